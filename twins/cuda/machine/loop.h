// The loop that executes ops.
#pragma once

#include <cstdint>

#include "cuda/machine/warp.h"

namespace cuda_twin {

/// Runs the warp until it can't go on, or for `quantum` instructions. Returns how many it executed:
/// 0 if no lane can go on.
std::uint64_t run_warp(Warp& warp, std::uint64_t quantum);

}  // namespace cuda_twin
