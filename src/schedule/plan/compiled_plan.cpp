#include "schedule/plan/compiled_plan.h"

#include <fmt/format.h>

#include "schedule/plan/plan_errors.h"

namespace shunt {

CompiledPlan::CompiledPlan(Parts parts)
    : parts_(std::move(parts)),
      memory_(memory_use(parts_.layout.blocks, parts_.placement.devices, parts_.steps_in_flight)) {}

bool CompiledPlan::copies_slices(const Action& action) const {
  return action.kind == ActionKind::kWrite && parts_.cut.copies[action.copy].gathered;
}

Result<std::unique_ptr<Binding>> CompiledPlan::bind(std::size_t segment,
                                                    const Addresses& addresses) const {
  auto binding = parts_.programs[segment]->bind(addresses);
  if (!binding) return in_segment(std::move(binding.error()), segment);
  return binding;
}

Error CompiledPlan::in_segment(Error error, std::size_t segment) const {
  return shunt::in_segment(std::move(error), graph(), devices(), parts_.cut.segments, segment);
}

Error CompiledPlan::in_action(Error error, std::size_t action) const {
  if (error.code() == ErrorCode::kCancelled) return error;
  const Action& at = parts_.actions[action];
  if (at.kind == ActionKind::kRun) return in_segment(std::move(error), at.segment);
  std::string node = graph().describe(at.node);
  if (at.parts.size() > 1) node += fmt::format(" and {} more", at.parts.size() - 1);
  Error named = std::move(error).with_node(node).with_context(
      fmt::format("copying {} for segment {}", node, at.segment));
  if (at.device == kHostAction) return named;
  return in_device(std::move(named), devices(), at.device);
}

}  // namespace shunt
