#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

/// Kept are the elements whose column less their row is from `low` to `high`.
struct BandArgs {
  Common common;
  TensorArg x, y;  ///< x's data may be null if none is kept
  i64 low, high;
  u64 constant;  ///< the bytes of all other elements
};

}  // namespace shunt::cuda::gpu
