#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

/// Rows of the result that a thread computes.
inline constexpr int kOutProdRows = 4;
struct OutProdArgs {
  Common common;
  TensorArg a, b, y;
};

}  // namespace shunt::cuda::gpu
