#pragma once

#include "backends/cuda/gpu/window.h"

namespace shunt::cuda::gpu {

struct PoolArgs {
  Common common;
  TensorArg x, y;
  Window window;
  u64 average;  ///< else the largest
};

}  // namespace shunt::cuda::gpu
