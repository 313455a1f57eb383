#pragma once

#include "backends/cuda/gpu/shared.h"
#include "backends/cuda/kernels/destination.h"

namespace shunt::cuda::gpu {

/// How the place in x follows from that in y, less `before`.
enum MoveMode : u32 {
  kMoveInside,    ///< it is the same; a constant where x has no such element
  kMoveCircular,  ///< modulo x's size
  kMoveReflected  ///< backwards beyond the outermost elements
};

/// Sizes and places along dimension 0 are in units: elements, or blocks of a block format.
struct MoveArgs {
  Common common;
  TensorArg x;
  Destination to;
  Size sizes[kDims];  ///< of the written part of y
  i64 before[kDims];
  u64 mode;
  u64 words;  ///< of a unit
  u64 constant;
};

}  // namespace shunt::cuda::gpu
