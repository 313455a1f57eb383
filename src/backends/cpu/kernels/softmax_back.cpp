#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/training.h"

namespace shunt::cpu {

namespace {

class SoftmaxBack final : public RowKernel {
 public:
  const Op& op() const override { return softmax_back_op(); }
  int in_place_source() const override { return 0; }
  /// For a row of each source.
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    return 2 * static_cast<std::size_t>(node.result().size(0)) * sizeof(float);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const float scale = call.params->get<SoftmaxParams>().scale;
    const TensorArg& dy = call.sources[0];
    const TensorArg& y = call.sources[1];
    const std::int64_t n = y.sizes[0];
    for_each_row(call.result.sizes, begin, end, [&](const RowIndex& at) {
      const float* pdy = view_f32(dy, row_data(dy, at), 0, n, as_f32(scratch));
      const float* py = view_f32(y, row_data(y, at), 0, n, as_f32(scratch) + n);
      float* dx = as_f32(row_data(call.result, at));
      simd::scale(call.level(), pdy, scale, -scale * simd::dot(call.level(), py, pdy, n), dx, n);
      simd::mul(call.level(), dx, py, dx, n);
    });
    return Fault::kNone;
  }
};

}  // namespace

KernelList softmax_back_kernels() {
  return list_kernels<CpuKernel, SoftmaxBack>();
}

}  // namespace shunt::cpu
