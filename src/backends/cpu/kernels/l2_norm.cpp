#include "backends/cpu/kernels/root_mean_square.h"
#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/norm.h"

namespace shunt::cpu {

namespace {

/// y = x / length; zeros for zeros. Neither length nor its inverse need be a normal number of F32.
void divide(simd::Level level, const float* x, double length, float* y, std::int64_t n) {
  if (length == 0) {
    std::fill_n(y, n, 0.0F);
  } else if (length < 1) {
    simd::div(level, x, static_cast<float>(length), y, n);
  } else {
    simd::mul(level, x, static_cast<float>(1 / length), y, n);
  }
}

class L2Norm final : public RowKernel {
 public:
  const Op& op() const override { return l2_norm_op(); }
  int in_place_source() const override { return 0; }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    return view_f32_bytes(node.source(0), node.source(0).size(0));
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const float eps = call.params->get<L2NormParams>().eps;
    const TensorArg& x = call.sources[0];
    const std::int64_t n = x.sizes[0];
    for_each_row(x.sizes, begin, end, [&](const RowIndex& at) {
      const float* row = view_f32(x, row_data(x, at), 0, n, as_f32(scratch));
      const double length = std::max(std::sqrt(sum_of_squares(call.level(), row, n)), double{eps});
      compute_f32(call.result, row_data(call.result, at), 0, n, as_f32(scratch),
                  [&](float* y) { divide(call.level(), row, length, y, n); });
    });
    return Fault::kNone;
  }
};

}  // namespace

KernelList l2_norm_kernels() {
  return list_kernels<CpuKernel, L2Norm>();
}

}  // namespace shunt::cpu
