#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

/// Where rows are written to: a window of y, or rows of y by their numbers. Sizes and starts along
/// dimension 0 are in units: elements, or blocks of a block format.
struct Destination {
  TensorArg y;
  Size start[kDims];  ///< of the window
  IdsArg ids;         ///< numbers of rows along dimension 1; its data may be null
};

}  // namespace shunt::cuda::gpu
