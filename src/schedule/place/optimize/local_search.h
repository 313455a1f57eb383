// Improves a complete assignment by moving single nodes and sets of nodes.
#pragma once

#include <cstdint>

#include "schedule/place/optimize/bounds.h"
#include "schedule/place/optimize/tables.h"

namespace shunt {

struct LocalSearchResult {
  Assignment assignment;  ///< with final reads
  double seconds = kNever;
  std::int64_t steps = 0;  ///< nodes that were timed
};

/// Walks over the nodes repeatedly. At each node it tries to move to every other device:
///  1. The node alone.
///  2. It and those of the same device that depend on it, directly or through each other: 2, 4,
///     8, ... of them.
///  3. It and the 2, 4, 8, ... nodes that follow in order, whatever device they are on.
/// Each moves with its group. The search makes every move that shortens the makespan (Timeline).
/// When a whole walk changes nothing, a few neighbouring nodes are moved to random other devices,
/// and the search continues from there. It returns to the best assignment if that led to no
/// improvement (iterated local search: Lourenço, Martin and Stützle, 2003). Ends after about
/// `steps` timed nodes or `kicks` random moves without an improvement. The same arguments give the
/// same result; it is never worse than `start`.
LocalSearchResult search_locally(const CostTables& tables, const CostBounds& bounds,
                                 const Assignment& start, std::int64_t steps, int kicks);

}  // namespace shunt
