// The second pass of placement: costs override rules where the predicted step gets shorter.
#pragma once

#include <vector>

#include "schedule/place/facts.h"
#include "schedule/place/optimize/optimize_cache.h"
#include "schedule/place/optimize/problem.h"
#include "schedule/place/pins.h"

namespace shunt {

/// A placement by rules as a numerical problem, and the mapping of its nodes.
struct PlaceProblem {
  CostProblem problem;
  std::vector<NodeId> nodes;      ///< by CostNode: computed nodes, in order
  Assignment start;               ///< the assignment by rules
  std::vector<NodeId> externals;  ///< by CostExternal: leaves
};

/// Costs can't change these hard constraints: pins, nodes that write into existing memory, and one
/// device for all nodes that write into the same memory. A weight or cache without a device yet
/// follows its users: on the device of its only user it costs nothing. Nodes that write into a
/// cache, or read it as it was before, share a device.
PlaceProblem make_problem(const PlaceFacts& facts, const PinnedNodes& pinned,
                          const std::vector<Decision>& decisions, const CostModel& costs);

/// Fills in the predictions for a step: the times of each node and copy, and the total.
void predict_costs(const PlaceFacts& facts, const PinnedNodes& pinned, const CostModel& costs,
                   Placement& placement);

/// Changes decisions where that makes the predicted step shorter, and fills in the predictions.
/// `searches` may be null.
void place_by_costs(const PlaceFacts& facts, const PinnedNodes& pinned, const CostModel& costs,
                    OptimizeCache* searches, Placement& placement);

}  // namespace shunt
