// The place of each tensor of a plan: in which block, and where in it.
#pragma once

#include <vector>

#include "schedule/plan/allocation.h"
#include "schedule/plan/blocks.h"
#include "schedule/plan/copy_route.h"
#include "schedule/plan/inputs.h"

namespace shunt {

struct PlanLayout {
  std::vector<PlanBlock> blocks;        ///< in the order in which they are allocated
  std::vector<PlanAddress> of_node;     ///< by node id: where it is computed or given
  std::vector<PlanAddress> of_copy;     ///< by copy
  std::vector<PlanAddress> staging;     ///< by copy: host memory of a copy through the host
  std::vector<PlanAddress> of_scratch;  ///< by segment
};

/// Lists the blocks of an allocation, of inputs, and of staging memory: of the copies through one
/// type of memory, a block has the bytes of the largest. `leaves` by node id: the memory of weights
/// and caches.
PlanLayout make_layout(const Graph& graph, const Placement& placement, const SegmentedGraph& cut,
                       std::span<const Address> leaves, std::span<const CopyRoute> routes,
                       std::span<const InputPool> inputs, const Allocation& allocation);

}  // namespace shunt
