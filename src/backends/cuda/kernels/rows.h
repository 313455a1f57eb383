#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct SetRowsArgs {
  Common common;
  TensorArg rows, ids, y;
};

}  // namespace shunt::cuda::gpu
