// Inputs that travel together: their copies become one.
#pragma once

#include <span>

#include "schedule/plan/segmented_graph.h"

namespace shunt {

/// Largest tensor of a batch, in bytes. For larger ones the bandwidth counts, not the number of
/// copies, and their memory should not live as long as that of the others.
inline constexpr std::size_t kMostBatched = std::size_t{1} << 16;

/// Finds the batches of a cut, and moves the copies of each (and their transfers) together: small
/// tensors first, as those that grow with a dynamic dimension are larger. `types`: memory_types().
void find_batches(const Graph& graph, const Placement& placement,
                  std::span<const BufferType* const> types, SegmentedGraph& cut);

}  // namespace shunt
