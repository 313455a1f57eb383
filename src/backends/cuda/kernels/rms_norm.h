#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct RmsNormArgs {
  Common common;
  TensorArg x, y;
  float eps;
};

/// The norm of x, or of x + added, times a row.
struct ScaledRmsNormArgs {
  Common common;
  TensorArg x, added, sum;  ///< added, sum: no data for a norm of x
  TensorArg scale, y;
  float eps;
};

}  // namespace shunt::cuda::gpu
