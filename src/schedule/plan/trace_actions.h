// The actions of an executable as a trace shows them.
#pragma once

#include <vector>

#include "schedule/plan/executable.h"
#include "schedule/plan/plan_trace.h"

namespace shunt {

/// By action.
struct TracedActions {
  std::vector<TraceAction> actions;
  std::vector<PlanTrace::Queue> queues;
};

TracedActions describe_actions(const Executable& executable);

}  // namespace shunt
