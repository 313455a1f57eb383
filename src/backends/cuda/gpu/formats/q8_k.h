#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * q.
struct Q8_K : BlockFormat<256, 292> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    const u8* q = block + 4 + at;
    return {{load_u32<4>(q), load_u32<4>(q + 4)}, *(const float*)block, 0};
  }
};

}  // namespace shunt::cuda::gpu
