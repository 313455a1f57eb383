#include <cmath>

#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/training.h"

namespace shunt::cpu {

namespace {

/// Rows up to this length are computed in double precision: in them the two terms may nearly
/// cancel, and in a row of one element always do.
constexpr std::int64_t kShort = 16;

void short_row(const float* dy, const float* x, double eps, float* dx, std::int64_t n) {
  double squares = 0;
  double products = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    squares += static_cast<double>(x[i]) * x[i];
    products += static_cast<double>(x[i]) * dy[i];
  }
  const double mean = squares / static_cast<double>(n) + eps;
  const double r = mean == 0 ? 0 : 1 / std::sqrt(mean);
  const double shrink = r * r * r * products / static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) dx[i] = static_cast<float>(r * dy[i] - shrink * x[i]);
}

class RmsNormBack final : public RowKernel {
 public:
  const Op& op() const override { return rms_norm_back_op(); }
  int in_place_source() const override { return 0; }
  /// For a row of each source.
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    return 3 * static_cast<std::size_t>(node.result().size(0)) * sizeof(float);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const float eps = call.params->get<RmsNormParams>().eps;
    const TensorArg& dy = call.sources[0];
    const TensorArg& x = call.sources[1];
    const std::int64_t n = x.sizes[0];
    float* room = as_f32(scratch) + 2 * n;
    for_each_row(call.result.sizes, begin, end, [&](const RowIndex& at) {
      const float* pdy = view_f32(dy, row_data(dy, at), 0, n, as_f32(scratch));
      const float* px = view_f32(x, row_data(x, at), 0, n, as_f32(scratch) + n);
      float* dx = as_f32(row_data(call.result, at));
      if (n <= kShort) return short_row(pdy, px, eps, dx, n);
      const double mean = simd::sum_squares(call.level(), px, n) / static_cast<double>(n) + eps;
      const double r = mean == 0 ? 0 : 1 / std::sqrt(mean);  // as rms_norm has it
      const double shrink =
          r * r * r * simd::dot(call.level(), px, pdy, n) / static_cast<double>(n);
      simd::mul(call.level(), px, static_cast<float>(-shrink), room, n);
      simd::scale_add(call.level(), pdy, static_cast<float>(r), room, dx, n);
    });
    return Fault::kNone;
  }
};

}  // namespace

KernelList rms_norm_back_kernels() {
  return list_kernels<CpuKernel, RmsNormBack>();
}

}  // namespace shunt::cpu
