#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct SolveTriArgs {
  Common common;
  TensorArg a, b, y;
  u64 upper, unit;
};

}  // namespace shunt::cuda::gpu
