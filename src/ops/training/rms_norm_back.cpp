#include <cmath>

#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/training/pairs.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class RmsNormBack final : public OpWith<RmsNormParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "rms_norm_back",
        .family = "training",
        .summary =
            "Gradient of rms_norm: with r = 1 / sqrt(mean(x^2) + eps), dx = r * dy "
            "- x * r^3 * mean(x * dy) for each "
            "row. All floats are F32.",
        .sources = {"dy", "x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const RmsNormParams& params) const override {
    SHUNT_TRY(expect_pair(info(), sources, 0, 1));
    SHUNT_TRY(expect_not_negative("eps", params.eps));
    return contiguous(DType::kF32, sources[0]->shape);
  }

  void plain_reference(RefSources sources, const RmsNormParams& params,
                       RefTensor& result) const override {
    const RefTensor& dy = *sources[0];
    const RefTensor& x = *sources[1];
    const auto n = static_cast<double>(x.sizes[0]);
    for_each_row(result.sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) {
      double squares = 0;
      double products = 0;
      for (std::int64_t i = 0; i < x.sizes[0]; ++i) {
        squares += x.at(i, i1, i2, i3) * x.at(i, i1, i2, i3);
        products += x.at(i, i1, i2, i3) * dy.at(i, i1, i2, i3);
      }
      const double r = 1 / std::sqrt(squares / n + params.eps);
      for (std::int64_t i = 0; i < x.sizes[0]; ++i) {
        result.at(i, i1, i2, i3) =
            r * dy.at(i, i1, i2, i3) - x.at(i, i1, i2, i3) * r * r * r * products / n;
      }
    });
  }
};

}  // namespace

const Op& rms_norm_back_op() {
  static const RmsNormBack kOp;
  return kOp;
}

Result<Value> rms_norm_back(GraphBuilder& g, Operand dy, Operand x, RmsNormParams params) {
  return g.apply(rms_norm_back_op(), Params::of(params), {&dy, &x});
}

}  // namespace shunt
