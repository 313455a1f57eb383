// The stages in which a step is submitted, so that steps overlap although the host blocks.
#pragma once

#include <span>
#include <vector>

#include "schedule/plan/action.h"
#include "schedule/plan/waits.h"

namespace shunt {

/// Actions of a step that are submitted in one go. The first action of a stage is one that blocks
/// the host for asynchronous work of the stage before: the host, or a synchronous device, needs a
/// result of that. Steps that start meanwhile are submitted before it.
struct Stage {
  std::size_t begin = 0;             ///< its actions
  std::size_t end = 0;               ///< one behind them
  std::size_t due = 0;               ///< steps that start behind this one before it is submitted
  std::size_t submitted_before = 0;  ///< of the step before: see Waits
};

/// The stages of a step in order; one if only one step may be in flight. `due` grows by the
/// asynchronous devices of each stage: each of them then has a step to work at.
std::vector<Stage> find_stages(std::span<const Action> actions, std::span<const Waits> waits,
                               std::span<Device* const> devices, std::size_t steps_in_flight);

}  // namespace shunt
