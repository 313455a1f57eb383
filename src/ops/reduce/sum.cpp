#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"
#include "ops/reduce/reduce.h"

namespace shunt {

namespace {

class Sum final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "sum", .family = "reduce", .summary = "The sum of all elements.", .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    return contiguous(x.dtype, {1, 1, 1, 1});
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    for (double each : x.data) result.at(0) += each;
  }

  /// An addition for each element of x.
  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    return static_cast<double>(element_count(sources[0]->shape));
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    return node.add_gradient(0, repeat(node.g, node.dy(), node.shape(0)));
  }
};

}  // namespace

const Op& sum_op() {
  static const Sum kOp;
  return kOp;
}

Result<Value> sum(GraphBuilder& g, Operand x) {
  return g.apply(sum_op(), Params::of(NoParams{}), {&x});
}

}  // namespace shunt
