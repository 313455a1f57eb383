#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"
#include "ops/reduce/reduce.h"

namespace shunt {

namespace {

class SumRows final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "sum_rows",
                                 .family = "reduce",
                                 .summary = "The sum of each row: y[0, r] = sum over i of x[i, r].",
                                 .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    return contiguous(x.dtype, {1, x.shape[1], x.shape[2], x.shape[3]});
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    for_each_row(x.sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) {
      double sum = 0;
      for (std::int64_t i = 0; i < x.sizes[0]; ++i) sum += x.at(i, i1, i2, i3);
      result.at(0, i1, i2, i3) = sum;
    });
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

const Op& sum_rows_op() {
  static const SumRows kOp;
  return kOp;
}

Result<Value> sum_rows(GraphBuilder& g, Operand x) {
  return g.apply(sum_rows_op(), Params::of(NoParams{}), {&x});
}

}  // namespace shunt
