#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

/// Pairs that a launch turns, at most: their frequencies are parameters, which have 4 KiB.
inline constexpr int kMostPairs = 256;
struct RopeArgs {
  Common common;
  TensorArg x, positions, factors, y;  ///< the data of `factors` may be null
  u64 half;                            ///< all pairs
  u64 first;                           ///< pair of the launch
  u64 pairs;                           ///< of the launch
  u64 copied;                          ///< elements that do not turn are copied
  u64 adjacent;  ///< a pair is of neighbours, else half of the turned elements apart
  double magnitude;
  double frequencies[kMostPairs];  ///< negative: the pairs turn back
  u8 position_of[kMostPairs];
};

}  // namespace shunt::cuda::gpu
