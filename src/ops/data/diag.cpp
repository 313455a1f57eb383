#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduce/reduce.h"
#include "ops/view/view.h"

namespace shunt {

namespace {

class Diag final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "diag",
        .family = "data",
        .summary = "A vector as a diagonal matrix: y[i, i] = x[i], 0 elsewhere.",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_plain_type("x", x));
    SHUNT_TRY(expect_dim("x", x, 1, 1, "that of a vector"));
    return contiguous(x.dtype, {x.shape[0], x.shape[0], x.shape[2], x.shape[3]});
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      at(result, i) = i[0] == i[1] ? sources[0]->at(i[0], 0, i[2], i[3]) : 0;
    });
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    // The diagonal: the rest of each row without the other elements.
    const Shape x = node.shape(0);
    const Result<Value> ones = diag(node.g, fill(node.g, {x[0]}, 1));
    return node.add_gradient(0, transpose(node.g, sum_rows(node.g, mul(node.g, node.dy(), ones))));
  }
};

}  // namespace

const Op& diag_op() {
  static const Diag kOp;
  return kOp;
}

Result<Value> diag(GraphBuilder& g, Operand x) {
  return g.apply(diag_op(), Params::of(NoParams{}), {&x});
}

}  // namespace shunt
