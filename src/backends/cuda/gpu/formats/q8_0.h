#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * q.
struct Q8_0 : BlockFormat<32, 34> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    const u8* q = block + 2 + at;
    return {{load_u32(q), load_u32(q + 4)}, load_f16(block), 0};
  }
};

}  // namespace shunt::cuda::gpu
