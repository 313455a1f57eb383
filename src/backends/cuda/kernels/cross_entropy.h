#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct CrossEntropyArgs {
  Common common;
  TensorArg logits, labels;
  Pointer<double> losses;  ///< of rows
  TensorArg loss;
};

struct CrossEntropyBackArgs {
  Common common;
  TensorArg dloss, logits, labels, dlogits;
};

}  // namespace shunt::cuda::gpu
