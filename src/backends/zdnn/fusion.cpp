#include "backends/zdnn/fusion.h"

#include "shunt/ops/elementwise.h"

namespace shunt::zdnn {

namespace {

std::optional<Fused> added_row(const Surroundings& around, const Shared& shared, NodeId id) {
  const NodeView view(around.graph(), id, around.segment().memory);
  const ZdnnKernel* const kernel = shared.table.find(*view.node().op);
  if (kernel == nullptr || !kernel->supports(view, shared.machine) ||
      !kernel->adds_row(view, shared.machine)) {
    return {};
  }
  auto group = with_row(around, id, add_op());
  return group ? std::optional(Fused{std::move(*group), kernel}) : std::nullopt;
}

}  // namespace

Fusions find_fusions(const SegmentView& segment, const Shared& shared) {
  const auto pattern = [&](const Surroundings& around, NodeId id) {
    return added_row(around, shared, id);
  };
  return Fusions(segment, std::array{pattern}, [](const Fused&) { return true; });
}

}  // namespace shunt::zdnn
