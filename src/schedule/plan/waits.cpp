#include "schedule/plan/waits.h"

namespace shunt {

namespace {

/// Of the actions noted so far, from `begin` on, the last of each other stream that one conflicts
/// with.
std::vector<std::size_t> conflicts(const MemoryHazards& noted, std::span<const Footprint> actions,
                                   std::size_t action, std::size_t begin) {
  std::vector<std::size_t> found = noted.last_conflicts(action);
  std::erase_if(found, [&](std::size_t other) {
    return other < begin || actions[other].stream == actions[action].stream;
  });
  return found;
}

}  // namespace

std::vector<Waits> find_waits(std::span<const Footprint> actions) {
  std::vector<Waits> waits(actions.size());
  MemoryHazards step(actions);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    waits[i].same_step = conflicts(step, actions, i, 0);
    step.add(i);
  }
  MemoryHazards step_before(actions, MemoryHazards::Of::kShared);
  for (std::size_t i = 0; i < actions.size(); ++i) step_before.add(i);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    // An action at or before this one in the step before is waited for by its successor in this
    // step.
    waits[i].step_before = conflicts(step_before, actions, i, i + 1);
  }
  return waits;
}

}  // namespace shunt
