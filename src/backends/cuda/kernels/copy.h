#pragma once

#include "backends/cuda/gpu/shared.h"
#include "backends/cuda/kernels/destination.h"

namespace shunt::cuda::gpu {

/// Lists of neighbours of a codebook: one for each vector of levels.
inline constexpr int kCodebookKeys = 4096;

/// A conversion. Types are PlainType; that of blocks is the kernel's own.
struct CopyArgs {
  Common common;
  TensorArg x;
  Destination to;
  u64 x_type, y_type;
};

}  // namespace shunt::cuda::gpu
