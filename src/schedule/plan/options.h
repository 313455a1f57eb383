// The options of compile(): their checks, and the memory of leaves that they give.
#pragma once

#include <vector>

#include "shunt/plan.h"

namespace shunt {

/// Invalid for a placement of another graph, and for options that contradict it or each other.
Status check_options(const Graph& graph, const Placement& placement, const CompileOptions& options);

/// The number of steps that may be in flight, with its default.
int steps_in_flight(const CompileOptions& options);

/// By node id: the memory of weights and caches. Invalid if one has none, or if it does not fit.
Result<std::vector<Address>> find_leaves(const Graph& graph, const CompileOptions& options);

/// Outputs and observed nodes: the host must be able to read them after a step.
std::vector<NodeId> find_kept(const Graph& graph, const CompileOptions& options);

/// By node id: whether the observer gets its values. Empty without an observer.
std::vector<bool> find_watched(const Graph& graph, const Observer& observer);

}  // namespace shunt
