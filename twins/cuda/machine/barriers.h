// The 16 barriers of a block. Lanes are counted as threads; a warp of which all lanes arrived
// counts as 32 threads.
#pragma once

#include "cuda/machine/block.h"

namespace cuda_twin {

struct Arrival {
  std::uint32_t barrier = 0;
  std::uint32_t threads = 0;  ///< 0: all of the block
  bool waits = true;          ///< false: bar.arrive
  bool reduces = false;       ///< bar.red
  LaneMask holds = 0;         ///< its predicate
};

/// `lanes` of the running group arrive, and wait if the arrival says so. Returns what the handler
/// shall return. After bar.red its handler runs again with Group::released set.
Next arrive(Warp& warp, LaneMask lanes, const Arrival& arrival);

/// barrier.cluster, of a cluster of one block.
Next arrive_at_cluster(Warp& warp, LaneMask lanes);
Next wait_for_cluster(Warp& warp, LaneMask lanes);

/// Releases the barriers that are complete because threads ended.
void complete_barriers(Block& block);

}  // namespace cuda_twin
