#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

/// Threads of a block, and columns that a warp multiplies a row of weights with.
inline constexpr int kMatmulThreads = 128;
inline constexpr int kMatmulColumns = 8;
struct MatmulArgs {
  Common common;
  TensorArg w, x, y;
};

}  // namespace shunt::cuda::gpu
