#pragma once

#include "backends/cuda/gpu/window.h"

namespace shunt::cuda::gpu {

struct ConvolutionArgs {
  Common common;
  Filters w;
  Images x;
  TensorArg y;
  Window window;
  i64 channels;   ///< that an output sums over
  i64 outputs;    ///< of an image
  u64 deep;       ///< y is [.., .., positions along z, outputs * N], else [.., .., outputs, N]
  u64 depthwise;  ///< output o has channel o of the image
};

}  // namespace shunt::cuda::gpu
