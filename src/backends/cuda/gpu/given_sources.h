// The optional sources that a node has. Their data can't tell: it is null for a source without
// elements, too. The host and the kernels include this header.
#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

/// Of an op over sequences: 1 if the source is given.
struct GivenSources {
  u64 ids, ends;
};

}  // namespace shunt::cuda::gpu
