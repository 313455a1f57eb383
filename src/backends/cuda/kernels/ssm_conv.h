#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct SsmConvArgs {
  Common common;
  IdsArg ids;                       ///< its data may be null
  TensorArg x, w, states, ends, y;  ///< likewise that of ends
  i64 output_rows;                  ///< of y: T at its maximum
};

}  // namespace shunt::cuda::gpu
