#pragma once

#include "backends/cuda/gpu/window.h"

namespace shunt::cuda::gpu {

/// [KW * KH * C, positions along x, along y, N], and [W, H, C, N].
struct Col2imArgs {
  Common common;
  TensorArg x, y;
  Window window;
};

}  // namespace shunt::cuda::gpu
