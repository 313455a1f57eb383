#pragma once

#include "backends/cuda/gpu/window.h"

namespace shunt::cuda::gpu {

struct Im2colArgs {
  Common common;
  Images x;
  TensorArg y;
  Window window;
  i64 slices;  ///< positions along z
};

}  // namespace shunt::cuda::gpu
