#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct L2NormArgs {
  Common common;
  TensorArg x, y;
  float eps;
};

}  // namespace shunt::cuda::gpu
