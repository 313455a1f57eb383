#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduce/reduce.h"

namespace shunt {

namespace {

class Mean final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "mean",
        .family = "reduce",
        .summary =
            "The mean of each row: y[0, r] = sum over i of x[i, r] / C, for rows of C elements.",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    if (x.size(0) < 1) return invalid("x is {}, whose rows have no element", to_string(x));
    return contiguous(x.dtype, {1, x.shape[1], x.shape[2], x.shape[3]});
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    for_each_row(x.sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) {
      double sum = 0;
      for (std::int64_t i = 0; i < x.sizes[0]; ++i) sum += x.at(i, i1, i2, i3);
      result.at(0, i1, i2, i3) = sum / static_cast<double>(x.sizes[0]);
    });
  }

  /// An addition for each element of x.
  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    return static_cast<double>(element_count(sources[0]->shape));
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    const Shape x = node.shape(0);
    SHUNT_TRY(expect_fixed_for(x[0], "the length of a row"));
    const Result<Value> share =
        scale(node.g, node.dy(), {.scale = 1 / static_cast<float>(x[0].max)});
    return node.add_gradient(0, repeat(node.g, share, x));
  }
};

}  // namespace

const Op& mean_op() {
  static const Mean kOp;
  return kOp;
}

Result<Value> mean(GraphBuilder& g, Operand x) {
  return g.apply(mean_op(), Params::of(NoParams{}), {&x});
}

}  // namespace shunt
