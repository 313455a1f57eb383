#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct GetRowsBackArgs {
  Common common;
  TensorArg dy;
  IdsArg ids;
  TensorArg y;
};

}  // namespace shunt::cuda::gpu
