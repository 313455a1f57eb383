#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

/// Of a row to a number, or to as many sums.
struct ReduceRowsArgs {
  Common common;
  TensorArg x, y;
  u64 mean;  ///< the sum is divided by the length
};

/// Elements that a block adds up.
inline constexpr int kReducePart = 8192;
/// Of all elements: first a sum of each kReducePart of them, then the sum of those.
struct ReduceAllArgs {
  Common common;
  TensorArg x, y;
  Pointer<float> parts;
};

}  // namespace shunt::cuda::gpu
