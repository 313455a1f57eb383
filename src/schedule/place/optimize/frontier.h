// Building assignments node by node, keeping the most promising: dynamic programming over the
// frontier of live values.
#pragma once

#include <cstdint>

#include "schedule/place/optimize/bounds.h"
#include "schedule/place/optimize/tables.h"

namespace shunt {

struct FrontierResult {
  Assignment assignment;  ///< with final reads; empty if nothing below the bound was found
  double seconds = kNever;
  bool proven = false;  ///< nothing is below both `seconds` and the bound: all that was dropped has
                        ///< a bound of its own
  std::int64_t steps = 0;  ///< partial assignments that were evaluated
};

/// After node i, the future sees only two kinds of times of an assignment of nodes 0..i. One is
/// when each device and link becomes free. The other is when each value that is still to be read is
/// on each device. Compare two partial assignments with the live values made on the same devices.
/// One that is nowhere later makes the other one superfluous (the makespan never falls when a time
/// rises). One whose lower bound reaches `below` is dropped. Of the rest, the `width` with the
/// smallest lower bound go on (beam search: Ow and Morton, "Filtered beam search in scheduling",
/// 1988). With enough width this is exact; on chains it is with any, since there the bound of
/// CostBounds is exact.
FrontierResult search_frontier(const CostTables& tables, const CostBounds& bounds, double below,
                               std::size_t width);

/// Times in one state of the search: the memory that a step costs.
std::size_t frontier_size(const CostTables& tables);

}  // namespace shunt
