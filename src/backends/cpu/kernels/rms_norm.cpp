#include <cmath>

#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/norm.h"

namespace shunt::cpu {

namespace {

/// 1 / sqrt(mean(x^2) + eps); 0 for a row of zeros without eps.
float factor(const float* x, std::int64_t n, float eps) {
  const float fast = simd::sum_squares(x, n);
  double sum = fast;
  // Squares too small or too large for F32, though x is not.
  if (!(fast > 1e-30F && std::isfinite(fast))) {
    sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  }
  const double mean = sum / static_cast<double>(n) + eps;
  return mean == 0 ? 0.0F : static_cast<float>(1 / std::sqrt(mean));
}

class RmsNorm final : public AnyCaseKernel {
 public:
  const Op& op() const override { return rms_norm_op(); }
  std::int64_t items(const Call& call, int) const override { return call.result.rows(); }
  std::int64_t grain(const Call& call, int) const override {
    return grain_for(call.result.sizes[0]);
  }
  int in_place_source() const override { return 0; }
  std::size_t worker_scratch(const NodeView& node) const override {
    return view_f32_bytes(node.source(0), node.source(0).size(0));
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const float eps = call.params->get<RmsNormParams>().eps;
    const TensorArg& x = call.sources[0];
    const std::int64_t n = x.sizes[0];
    for_each_row(x.sizes, begin, end, [&](const RowIndex& at) {
      const float* row = view_f32(x, row_data(x, at), 0, n, as_f32(scratch));
      simd::mul(row, factor(row, n, eps), as_f32(row_data(call.result, at)), n);
    });
    return Fault::kNone;
  }
};

}  // namespace

KernelList rms_norm_kernels() {
  static const RmsNorm kKernel;
  static constexpr const CpuKernel* kKernels[] = {&kKernel};
  return kKernels;
}

}  // namespace shunt::cpu
