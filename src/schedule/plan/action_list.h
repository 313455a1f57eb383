// Listing the actions of a step.
#pragma once

#include <vector>

#include "schedule/plan/compiled_plan.h"

namespace shunt {

/// Fills in actions, waits, stages, readable nodes and Transfer::merged of an executable that has
/// all other parts. `routes` by copy; `kept`: nodes to be readable; `watched` by node id, or empty:
/// nodes for the observer.
void list_actions(CompiledPlan::Parts& parts, std::span<const CopyRoute> routes,
                  std::span<const NodeId> live_out, const std::vector<bool>& watched);

}  // namespace shunt
