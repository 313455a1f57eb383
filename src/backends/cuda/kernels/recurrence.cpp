#include "backends/cuda/kernels/recurrence.h"

#include <algorithm>

#include "backend_support/kernel_rows.h"
#include "backends/cuda/kernel.h"
#include "shunt/ops/state.h"

namespace shunt::cuda {

namespace {

struct RecurrenceRow {
  const Op& (*op)();
  std::size_t states;  ///< the number of this source; ids and ends follow it
  int keys;            ///< the dimension of the states that the op sums over
  float (*scale)(const NodeView&);
};

float no_scale(const NodeView&) {
  return 1;
}
template <class OpParams>
float scale_of(const NodeView& node) {
  return node.params<OpParams>().scale;
}

constexpr std::array kRecurrenceRows = {
    RecurrenceRow{ssm_scan_op, 5, 0, no_scale}, RecurrenceRow{rwkv_wkv6_op, 5, 1, no_scale},
    RecurrenceRow{rwkv_wkv7_op, 6, 0, no_scale},
    RecurrenceRow{gated_linear_attn_op, 4, 1, scale_of<GatedLinearAttnParams>},
    RecurrenceRow{gated_delta_net_op, 5, 0, scale_of<GatedDeltaNetParams>}};

class RecurrenceKernel final : public CudaKernel {
 public:
  explicit RecurrenceKernel(const RecurrenceRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  std::string_view module() const override { return "recurrence"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const std::size_t ends = row_.states + 2;
    gpu::RecurrenceArgs params = {};
    params.common = node.common();
    for (std::size_t i = 0; i < row_.states; ++i) params.sources[i] = node.source(i);
    params.states = node.source(row_.states);
    params.ids = node.ids(row_.states + 1);
    params.ends = node.source(ends);
    params.given = {view.has_source(row_.states + 1) ? 1U : 0U, view.has_source(ends) ? 1U : 0U};
    params.y = node.result();
    params.output_rows = view.source(0).size(2);
    params.scale = row_.scale(view);
    const std::int64_t sequences =
        view.has_source(ends) ? view.source(ends).size(0) + 1 : view.source(0).size(3);
    const bool fits = view.source(row_.states).size(row_.keys) <= gpu::kStatePerLane * 32;
    return {{.kernel = std::string(op().info().name) + (fits ? "_registers" : "_memory"),
             .items = sequences * view.result().size(0),
             .per_block = gpu::kRecurrenceThreads / 32,
             .threads = gpu::kRecurrenceThreads,
             .parameters = bytes_of(params)}};
  }

 private:
  const RecurrenceRow& row_;
};

}  // namespace

KernelList recurrence_kernels() {
  static const KernelRows<RecurrenceKernel, CudaKernel> kernels(kRecurrenceRows);
  return kernels.list();
}

}  // namespace shunt::cuda
