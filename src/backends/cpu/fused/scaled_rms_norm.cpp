#include <algorithm>

#include "backends/cpu/fused/patterns.h"
#include "backends/cpu/kernels/root_mean_square.h"
#include "backends/cpu/kernels/rows.h"
#include "shunt/ops/norm.h"

namespace shunt::cpu {

namespace {

/// rms_norm(x) times a row that all rows share. An item is a row.
class ScaledRmsNorm : public RowKernel {
 public:
  const Op& op() const override { return rms_norm_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte*) const override {
    const TensorArg& x = call.sources[0];
    for_each_row(x.sizes, begin, end, [&](const RowIndex& at) {
      scaled_norm(call, as_f32(row_data(x, at)), call.sources[1], at);
    });
    return Fault::kNone;
  }

 protected:
  static void scaled_norm(const Call& call, const float* row, const TensorArg& scale,
                          const RowIndex& at) {
    const std::int64_t n = call.result.sizes[0];
    float* y = as_f32(row_data(call.result, at));
    const float eps = call.params->get<RmsNormParams>().eps;
    simd::mul(call.level(), row, inverse_root_mean_square(call.level(), row, n, eps), y, n);
    simd::mul(call.level(), y, as_f32(scale.data), y, n);
  }
};

/// rms_norm(a + b) times such a row: sources are a, b, the scale and where the sum goes.
class AddedRmsNorm final : public ScaledRmsNorm {
 public:
  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte*) const override {
    const TensorArg& a = call.sources[0];
    const TensorArg& b = call.sources[1];
    const TensorArg& scale = call.sources[2];
    const TensorArg& sum = call.sources[3];
    for_each_row(sum.sizes, begin, end, [&](const RowIndex& at) {
      float* row = as_f32(row_data(sum, at));
      simd::add(call.level(), as_f32(row_data(a, at)), as_f32(row_data(b, at)), row, sum.sizes[0]);
      scaled_norm(call, row, scale, at);
    });
    return Fault::kNone;
  }
};

/// F32, with contiguous rows.
bool is_plain(const Tensor& tensor) {
  return tensor.dtype == DType::kF32 && tensor.strides[0] == sizeof(float);
}

/// Whether a node is F32: kernels of groups read no other sources.
auto plain_sources(const Surroundings& around) {
  return [&around](NodeId id) { return is_plain(around.node(id).result); };
}

}  // namespace

std::optional<Fused> scaled_rms_norm(const Surroundings& around, NodeId norm, const CpuTarget&) {
  static const ScaledRmsNorm kKernel;
  return with_kernel<CpuKernel>(norm_and_scale(around, norm), kKernel, plain_sources(around));
}

std::optional<Fused> added_rms_norm(const Surroundings& around, NodeId sum, const CpuTarget&) {
  static const AddedRmsNorm kKernel;
  return with_kernel<CpuKernel>(sum_norm_and_scale(around, sum), kKernel, plain_sources(around));
}

}  // namespace shunt::cpu
