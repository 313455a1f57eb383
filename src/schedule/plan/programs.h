// The programs of a plan: each segment, prepared by its device.
#pragma once

#include <memory>
#include <vector>

#include "schedule/plan/segments.h"

namespace shunt {

/// By segment. `leaves` by node id: the memory of weights and caches. `kept` and `watched` nodes
/// must have their results in memory. An error names the segment.
Result<std::vector<std::unique_ptr<Program>>> prepare_programs(const Graph& graph,
                                                               const Placement& placement,
                                                               const SegmentedGraph& cut,
                                                               std::span<const Address> leaves,
                                                               std::span<const NodeId> live_out,
                                                               std::span<const NodeId> watched);

}  // namespace shunt
