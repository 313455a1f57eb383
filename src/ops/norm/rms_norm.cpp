#include <cmath>

#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/norm/norm.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class RmsNorm final : public Differentiable<RmsNormParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "rms_norm",
        .family = "norm",
        .summary = "Root mean square normalisation of each row: y = x / sqrt(mean(x^2) + eps).",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const RmsNormParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    SHUNT_TRY(expect_not_negative("eps", params.eps));
    return contiguous(x.dtype, x.shape);
  }

  void plain_reference(RefSources sources, const RmsNormParams& params,
                       RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    for_each_row(result.sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) {
      double sum = 0;
      for (std::int64_t i = 0; i < x.sizes[0]; ++i)
        sum += x.at(i, i1, i2, i3) * x.at(i, i1, i2, i3);
      const double factor = 1 / std::sqrt(sum / static_cast<double>(x.sizes[0]) + params.eps);
      for (std::int64_t i = 0; i < x.sizes[0]; ++i)
        result.at(i, i1, i2, i3) = x.at(i, i1, i2, i3) * factor;
    });
  }

  Status gradient_rule(Backward& node, const RmsNormParams& params) const override {
    const Result<Value> x = as_f32(node.g, node.source(0));
    return node.add_gradient(0, rms_norm_back(node.g, node.dy(), x, params));
  }
};

}  // namespace

const Op& rms_norm_op() {
  static const RmsNorm kOp;
  return kOp;
}

Result<Value> rms_norm(GraphBuilder& g, Operand x, RmsNormParams params) {
  return g.apply(rms_norm_op(), Params::of(params), {&x});
}

}  // namespace shunt
