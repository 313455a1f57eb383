#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct NormArgs {
  Common common;
  TensorArg x, y;
  u64 groups;  ///< of group_norm
  float eps;
};

}  // namespace shunt::cuda::gpu
