// The race checks of one lane's access.
#pragma once

#include "cuda/memory/access.h"

namespace cuda_twin::races {

/// Looks for a race with earlier accesses, and remembers this one. False if the kernel ends.
bool check(Warp& warp, unsigned lane, const Spot& spot, unsigned bytes, AccessFlags access);

}  // namespace cuda_twin::races
