#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct SiluBackArgs {
  Common common;
  TensorArg dy, x, dx;
};

}  // namespace shunt::cuda::gpu
