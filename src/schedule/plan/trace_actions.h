// The actions of an executable as a trace shows them.
#pragma once

#include <vector>

#include "schedule/plan/compiled_plan.h"
#include "schedule/plan/plan_trace.h"

namespace shunt {

/// By action.
struct TracedActions {
  std::vector<TraceAction> actions;
  std::vector<PlanTrace::Queue> queues;
};

TracedActions describe_actions(const CompiledPlan& executable);

}  // namespace shunt
