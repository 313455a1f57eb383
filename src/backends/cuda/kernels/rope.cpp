#include "backends/cuda/kernels/rope.h"
#include "backends/cuda/kernel.h"
#include "shunt/ops/attention.h"

namespace shunt::cuda {

namespace {

class Rope final : public CudaKernel {
 public:
  const Op& op() const override { return rope_op(); }
  std::string_view module() const override { return "rope"; }
  Support supports(const NodeView& node, const CudaTarget&) const override {
    const std::int64_t pairs = node.params<RopeParams>().dims / 2;
    if (pairs <= gpu::kMostPairs) return Support::yes();
    return Support::no(Refusal::kShape, "the CUDA kernel turns at most " +
                                            std::to_string(gpu::kMostPairs) + " pairs, not " +
                                            std::to_string(pairs));
  }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const auto& rope = view.params<RopeParams>();
    gpu::RopeArgs params = {};
    params.common = node.common();
    params.x = node.source(0);
    params.positions = node.source(1);
    params.factors = node.source(2);
    params.y = node.result();
    params.pairs = static_cast<gpu::u64>(rope.dims / 2);
    params.adjacent = rope.mode == RopeMode::kNormal ? 1 : 0;
    params.magnitude = rope_magnitude(rope);
    for (std::int64_t i = 0; i < rope.dims / 2; ++i) {
      params.frequencies[i] = rope_frequency(rope, i);
      params.position_of[i] = static_cast<gpu::u8>(rope_position(rope, i));
    }
    const Tensor& y = view.result();
    return {{.kernel = "rope_" + type_suffix({view.source(0).dtype}),
             .items = (y.size(0) - rope.dims / 2) * row_count(y),
             .per_block = 256,
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList rope_kernels() {
  return list_kernels<CudaKernel, Rope>();
}

}  // namespace shunt::cuda
