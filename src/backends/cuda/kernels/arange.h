#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct ArangeArgs {
  Common common;
  TensorArg y;
  double start, step;
};

}  // namespace shunt::cuda::gpu
