// The second pass of placement: costs override rules where the predicted step gets shorter.
#pragma once

#include <vector>

#include "schedule/place/facts.h"
#include "schedule/place/optimize/optimize_cache.h"
#include "schedule/place/optimize/problem.h"
#include "schedule/place/pins.h"

namespace shunt {

/// A placement by rules as a problem of numbers, and which node is which.
struct PlaceProblem {
  CostProblem problem;
  std::vector<NodeId> nodes;      ///< by CostNode: computed nodes, in order
  Assignment start;               ///< the assignment by rules
  std::vector<NodeId> externals;  ///< by CostExternal: leaves
};

/// Hard, thus not for costs to change: pins; nodes that write into memory that is there; and that
/// nodes that write into one memory are on one device. A weight or cache that has no place yet goes
/// with its users: with one user it costs nothing to be there. Nodes that write into a cache, or
/// read it as it was before, share a device.
PlaceProblem make_problem(const PlaceFacts& facts, const PinnedNodes& pinned,
                          const std::vector<Decision>& decisions, const CostModel& costs);

/// Fills in all that is predicted of a step: when each node and each copy is done, and how long all
/// of it takes.
void predict_costs(const PlaceFacts& facts, const PinnedNodes& pinned, const CostModel& costs,
                   Placement& placement);

/// Changes decisions where that makes the predicted step shorter, and fills in the predictions.
/// `searches` may be null.
void place_by_costs(const PlaceFacts& facts, const PinnedNodes& pinned, const CostModel& costs,
                    OptimizeCache* searches, Placement& placement);

}  // namespace shunt
