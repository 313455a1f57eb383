#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

/// Elements that are sorted in shared memory.
inline constexpr int kSortChunk = 2048;

/// A row of y has the first indices of the sorted row of x.
struct SortArgs {
  Common common;
  TensorArg x, y;
  Pointer<u64> runs;  ///< for each slot twice `capacity` keys; null if all rows are in one chunk
  i64 slots;          ///< rows that are sorted at the same time
  i64 capacity;
  u64 descending;
};

}  // namespace shunt::cuda::gpu
