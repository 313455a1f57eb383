#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct RepeatBackArgs {
  Common common;
  TensorArg dy, dx;
};

}  // namespace shunt::cuda::gpu
