// A block of which no warp can go on.
#pragma once

#include "cuda/machine/block.h"

namespace cuda_twin {

/// Lanes that wait at a .sync instruction for others that never come: a finding, and they go on
/// without them. Otherwise an error that names the warps and barriers. False if the launch ends.
bool break_deadlock(Block& block);

}  // namespace cuda_twin
