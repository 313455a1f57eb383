#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct SoftmaxArgs {
  Common common;
  TensorArg x, mask, sinks, y;  ///< the data of `mask` and `sinks` may be null
  u64 f16_mask;
  float scale, max_bias;
};

struct SoftmaxBackArgs {
  Common common;
  TensorArg dy, y, dx;
  float scale;
};

}  // namespace shunt::cuda::gpu
