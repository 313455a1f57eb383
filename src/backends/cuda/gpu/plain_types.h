// Numbers of the types of one element. The host and the kernels include this header.
#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

/// Integers and F64 come last: they are converted to each other directly, all others through F32.
enum PlainType : u32 {
  kPlainF32,
  kPlainF16,
  kPlainBF16,
  kPlainF64,
  kPlainI8,
  kPlainI16,
  kPlainI32,
  kPlainI64
};

}  // namespace shunt::cuda::gpu
