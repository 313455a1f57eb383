#include "backends/cpu/fused.h"

#include "backends/cpu/kernels/root_mean_square.h"
#include "backends/cpu/kernels/rows.h"
#include "shunt/ops/elementwise.h"
#include "shunt/ops/norm.h"

namespace shunt::cpu {

namespace {

/// rms_norm(x) times a row that all rows share.
class ScaledRmsNorm final : public AnyCaseKernel {
 public:
  const Op& op() const override { return rms_norm_op(); }
  std::int64_t items(const Call& call, int) const override { return call.result.rows(); }
  std::int64_t grain(const Call& call, int) const override {
    return grain_for(call.result.sizes[0]);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte*) const override {
    const float eps = call.params->get<RmsNormParams>().eps;
    const TensorArg& x = call.sources[0];
    const float* scale = as_f32(call.sources[1].data);
    const std::int64_t n = x.sizes[0];
    for_each_row(x.sizes, begin, end, [&](const RowIndex& at) {
      const float* row = as_f32(row_data(x, at));
      float* y = as_f32(row_data(call.result, at));
      simd::mul(row, inverse_root_mean_square(row, n, eps), y, n);
      simd::mul(y, scale, y, n);
    });
    return Fault::kNone;
  }

  /// All are F32, with rows that lie in one piece.
  static bool fits(const NodeView& norm, const NodeView& product) {
    const Tensor& scale = product.source(1);
    const auto plain = [](const Tensor& tensor) {
      return tensor.dtype == DType::kF32 && tensor.strides[0] == sizeof(float);
    };
    return plain(norm.source(0)) && plain(scale) && scale.shape[0] == norm.result().shape[0] &&
           element_count(scale.shape) == scale.size(0);
  }
};

}  // namespace

std::span<const Fusion> fusions() {
  static const ScaledRmsNorm kScaledRmsNorm;
  static const Fusion kFusions[] = {
      {&rms_norm_op(), &mul_op(), 0, ScaledRmsNorm::fits, &kScaledRmsNorm},
  };
  return kFusions;
}

}  // namespace shunt::cpu
