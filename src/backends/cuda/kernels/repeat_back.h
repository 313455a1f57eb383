#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

inline constexpr int kRepeatBackThreads = 256;
struct RepeatBackArgs {
  Common common;
  TensorArg dy, dx;
  i64 together;  ///< elements of a block: a power of two up to kRepeatBackThreads
};

}  // namespace shunt::cuda::gpu
