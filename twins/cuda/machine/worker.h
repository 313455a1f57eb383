// Host threads that run the blocks of a launch.
#pragma once

#include "cuda/machine/grid.h"

namespace cuda_twin {

/// Runs all blocks, on this thread and on Launch::host_threads - 1 others.
void run_blocks(Grid& grid);

}  // namespace cuda_twin
