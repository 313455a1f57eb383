#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * q.
struct Q8_0 : BlockFormat<32, 34> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    const u8* q = block + 2 + at;
    // Eight blocks are wider than all banks of shared memory. The lanes of the second 128 bytes
    // read their words in the other order, so that no more than two lanes share a bank.
    const u32 late = (u32)((u64)q / 128 % 2) * 4;
    const u32 first = load_u32(q + late), second = load_u32(q + 4 - late);
    if (late == 0) return {{first, second}, load_f16(block), 0};
    return {{second, first}, load_f16(block), 0};
  }
};

}  // namespace shunt::cuda::gpu
