#pragma once

#include "backends/cuda/gpu/shared.h"
#include "backends/cuda/kernels/destination.h"

namespace shunt::cuda::gpu {

/// The vectors of a codebook that are compared for each vector of levels.
inline constexpr int kCodebookKeys = 4096;
inline constexpr int kCodebookNeighbours = 24;
struct CodebookTable {
  u16 lists[kCodebookKeys][kCodebookNeighbours];
  u8 counts[kCodebookKeys];
};

/// A conversion. Types are PlainType; that of blocks is the kernel's own.
struct CopyArgs {
  Common common;
  TensorArg x;
  Destination to;
  u64 x_type, y_type;
  Pointer<CodebookTable> table;  ///< of formats that have one
};

}  // namespace shunt::cuda::gpu
