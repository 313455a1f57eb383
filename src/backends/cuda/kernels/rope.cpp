#include "backends/cuda/kernels/rope.h"

#include <algorithm>
#include <array>

#include "backend_support/kernel_rows.h"
#include "backends/cuda/kernel.h"
#include "shunt/ops/attention.h"
#include "shunt/ops/training.h"

namespace shunt::cuda {

namespace {

/// Rope, or its gradient, which turns back.
struct RopeRow {
  const Op& (*op)();
  double direction;
};
constexpr std::array kRopeRows = {RopeRow{rope_op, 1}, RopeRow{rope_back_op, -1}};

class Rope final : public CudaKernel {
 public:
  explicit Rope(const RopeRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  std::string_view module() const override { return "rope"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const std::int64_t half = node.view().params<RopeParams>().dims / 2;
    std::vector<LaunchPlan> launches;
    for (std::int64_t first = 0; first < half; first += gpu::kMostPairs)
      launches.push_back(plan(node, first));
    return launches;
  }

 private:
  /// The pairs from `first` on that one launch turns. The first launch copies the rest of the row.
  LaunchPlan plan(const BoundNode& node, std::int64_t first) const {
    const NodeView& view = node.view();
    const auto& rope = view.params<RopeParams>();
    const std::int64_t pairs = std::min<std::int64_t>(rope.dims / 2 - first, gpu::kMostPairs);
    gpu::RopeArgs params = {};
    params.common = node.common();
    params.x = node.source(0);
    params.positions = node.source(1);
    params.factors = node.source(2);
    params.y = node.result();
    params.half = static_cast<gpu::u64>(rope.dims / 2);
    params.first = static_cast<gpu::u64>(first);
    params.pairs = static_cast<gpu::u64>(pairs);
    params.copied = first == 0 ? 1 : 0;
    params.adjacent = rope.mode == RopeMode::kNormal ? 1 : 0;
    params.magnitude = rope_magnitude(rope);
    for (std::int64_t i = 0; i < pairs; ++i) {
      params.frequencies[i] = row_.direction * rope_frequency(rope, first + i);
      params.position_of[i] = static_cast<gpu::u8>(rope_position(rope, first + i));
    }
    const Tensor& y = view.result();
    const std::int64_t copied = first == 0 ? y.size(0) - rope.dims : 0;
    return {.kernel = "rope_" + type_suffix({view.source(0).dtype}),
            .items = (pairs + copied) * row_count(y),
            .per_block = 256,
            .parameters = bytes_of(params)};
  }

  const RopeRow& row_;
};

}  // namespace

KernelList rope_kernels() {
  static const KernelRows<Rope, CudaKernel> kernels(kRopeRows);
  return kernels.list();
}

}  // namespace shunt::cuda
