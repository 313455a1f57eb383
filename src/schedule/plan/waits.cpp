#include "schedule/plan/waits.h"

#include <algorithm>

namespace shunt {

namespace {

void keep_other_streams(std::vector<std::size_t>& found, std::span<const Footprint> actions,
                        std::size_t action) {
  std::erase_if(found,
                [&](std::size_t other) { return actions[other].stream == actions[action].stream; });
}

}  // namespace

std::vector<Waits> find_waits(std::span<const Footprint> actions) {
  std::vector<Waits> waits(actions.size());
  MemoryHazards step(actions);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    waits[i].same_step = step.last_conflicts(i);
    keep_other_streams(waits[i].same_step, actions, i);
    step.add(i);
  }
  MemoryHazards step_before(actions, MemoryHazards::Of::kShared);
  for (std::size_t i = 0; i < actions.size(); ++i) step_before.add(i);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    // An action at or before this one in the step before is waited for by its successor in this
    // step.
    std::vector<std::size_t> later = step_before.last_conflicts(i);
    std::erase_if(later, [&](std::size_t other) { return other <= i; });
    waits[i].submitted_before = later.empty() ? i + 1 : std::ranges::max(later) + 1;
    keep_other_streams(later, actions, i);
    waits[i].step_before = std::move(later);
  }
  return waits;
}

}  // namespace shunt
