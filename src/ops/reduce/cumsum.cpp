#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduce/reduce.h"

namespace shunt {

namespace {

class Cumsum final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "cumsum",
                                 .family = "reduce",
                                 .summary =
                                     "Sums of each row up to each element: y[i, r] = x[0, r] + "
                                     "... + x[i, r].",
                                 .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    return contiguous(x.dtype, x.shape);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    for_each_row(x.sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) {
      double sum = 0;
      for (std::int64_t i = 0; i < x.sizes[0]; ++i) {
        sum += x.at(i, i1, i2, i3);
        result.at(i, i1, i2, i3) = sum;
      }
    });
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    // An element is in its own sum and in all after it: in all of the row but those before it.
    const Result<Value> with_all = add(node.g, node.dy(), sum_rows(node.g, node.dy()));
    return node.add_gradient(0, sub(node.g, with_all, cumsum(node.g, node.dy())));
  }
};

}  // namespace

const Op& cumsum_op() {
  static const Cumsum kOp;
  return kOp;
}

Result<Value> cumsum(GraphBuilder& g, Operand x) {
  return g.apply(cumsum_op(), Params::of(NoParams{}), {&x});
}

}  // namespace shunt
