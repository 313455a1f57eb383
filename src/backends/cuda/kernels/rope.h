#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

/// Pairs that turn, at most: their frequencies are parameters, which have 4 KiB.
inline constexpr int kMostPairs = 256;
struct RopeArgs {
  Common common;
  TensorArg x, positions, factors, y;  ///< the data of `factors` may be null
  u64 pairs;
  u64 adjacent;  ///< a pair is of neighbours, else half of the turned elements apart
  double magnitude;
  double frequencies[kMostPairs];
  u8 position_of[kMostPairs];
};

}  // namespace shunt::cuda::gpu
