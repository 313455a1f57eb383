// Cutting a placed graph into segments, and finding the copies between devices.
#pragma once

#include "schedule/plan/segmented_graph.h"

namespace shunt {

/// `kept`: outputs and observed nodes, which must be readable by the host at the end. `watched`, by
/// node id: those after which a segment ends, with a copy for the host if it can't read them in
/// place; none if empty. `types`: memory_types(). Small inputs are batched (batches.h).
SegmentedGraph cut_segments(const Graph& graph, const Placement& placement,
                            std::span<const NodeId> live_out,
                            std::span<const BufferType* const> types,
                            const std::vector<bool>& watched = {});

}  // namespace shunt
