#include "backends/cpu/kernels/root_mean_square.h"
#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/norm.h"

namespace shunt::cpu {

namespace {

class RmsNorm final : public RowKernel {
 public:
  const Op& op() const override { return rms_norm_op(); }
  int in_place_source() const override { return 0; }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    return view_f32_bytes(node.source(0), node.source(0).size(0));
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const float eps = call.params->get<RmsNormParams>().eps;
    const TensorArg& x = call.sources[0];
    const std::int64_t n = x.sizes[0];
    for_each_row(x.sizes, begin, end, [&](const RowIndex& at) {
      const float* row = view_f32(x, row_data(x, at), 0, n, as_f32(scratch));
      const float factor = inverse_root_mean_square(call.level(), row, n, eps);
      compute_f32(call.result, row_data(call.result, at), 0, n, as_f32(scratch),
                  [&](float* y) { simd::mul(call.level(), row, factor, y, n); });
    });
    return Fault::kNone;
  }
};

}  // namespace

KernelList rms_norm_kernels() {
  return list_kernels<CpuKernel, RmsNorm>();
}

}  // namespace shunt::cpu
