#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct TimestepEmbeddingArgs {
  Common common;
  TensorArg t, y;
  u64 integers;       ///< t is I32, else F32
  double log_period;  ///< ln(max_period)
};

}  // namespace shunt::cuda::gpu
