#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct ArgmaxArgs {
  Common common;
  TensorArg x, y;
};

}  // namespace shunt::cuda::gpu
