#include "ops/attention/scores.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/training/pairs.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class SoftmaxBack final : public OpWith<SoftmaxParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "softmax_back",
        .family = "training",
        .summary =
            "Gradient of softmax by x, where y is its result: dx = scale * y * "
            "(dy - sum(y * dy)) for each row, whatever its mask and "
            "sinks. All floats are F32.",
        .sources = {"dy", "y"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const SoftmaxParams& params) const override {
    SHUNT_TRY(expect_pair(info(), sources, 0, 1));
    SHUNT_TRY(expect_finite("scale", params.scale));
    SHUNT_TRY(check_max_bias(params.max_bias));
    return contiguous(DType::kF32, sources[0]->shape);
  }

  void plain_reference(RefSources sources, const SoftmaxParams& params,
                       RefTensor& result) const override {
    const RefTensor& dy = *sources[0];
    const RefTensor& y = *sources[1];
    for_each_row(result.sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) {
      double sum = 0;
      for (std::int64_t i = 0; i < y.sizes[0]; ++i) {
        sum += y.at(i, i1, i2, i3) * dy.at(i, i1, i2, i3);
      }
      for (std::int64_t i = 0; i < y.sizes[0]; ++i) {
        result.at(i, i1, i2, i3) =
            params.scale * y.at(i, i1, i2, i3) * (dy.at(i, i1, i2, i3) - sum);
      }
    });
  }
};

}  // namespace

const Op& softmax_back_op() {
  static const SoftmaxBack kOp;
  return kOp;
}

Result<Value> softmax_back(GraphBuilder& g, Operand dy, Operand y, SoftmaxParams params) {
  return g.apply(softmax_back_op(), Params::of(params), {&dy, &y});
}

}  // namespace shunt
