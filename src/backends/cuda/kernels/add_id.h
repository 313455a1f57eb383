#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct AddIdArgs {
  Common common;
  TensorArg x, b;
  IdsArg ids;
  TensorArg y;
};

}  // namespace shunt::cuda::gpu
