#pragma once

#include "backends/cuda/gpu/window.h"

namespace shunt::cuda::gpu {

/// [KW, KH, O, C], [W, H, C, N] and [.., .., O, N].
struct ConvTransposeArgs {
  Common common;
  TensorArg w, x, y;
  Window window;
};

}  // namespace shunt::cuda::gpu
