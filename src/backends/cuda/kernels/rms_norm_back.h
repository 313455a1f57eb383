#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct RmsNormBackArgs {
  Common common;
  TensorArg dy, x, dx;
  float eps;
};

}  // namespace shunt::cuda::gpu
