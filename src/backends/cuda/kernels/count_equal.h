#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

/// Elements that a block compares.
inline constexpr int kCountPart = 8192;
/// First a count of each kCountPart elements, then the sum of those.
struct CountEqualArgs {
  Common common;
  TensorArg a, b, y;
  Pointer<i64> parts;
  u64 wide_a, wide_b;  ///< of I64, else of I32
};

}  // namespace shunt::cuda::gpu
