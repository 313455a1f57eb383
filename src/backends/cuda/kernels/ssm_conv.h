#pragma once

#include "backends/cuda/gpu/given_sources.h"

namespace shunt::cuda::gpu {

struct SsmConvArgs {
  Common common;
  IdsArg ids;
  TensorArg x, w, states, ends, y;
  GivenSources given;
  i64 output_rows;  ///< of y: T at its maximum
};

}  // namespace shunt::cuda::gpu
