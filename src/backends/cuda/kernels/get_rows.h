#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct GetRowsArgs {
  Common common;
  TensorArg table;
  IdsArg ids;
  TensorArg y;
};

}  // namespace shunt::cuda::gpu
