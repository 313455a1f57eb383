#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * s * q - dmin * m.
struct Q2_K : BlockFormat<256, 84, kWithOffset, 16> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    const int pair = block[at / 16];
    PackedGroup group = {.scale = load_f16(block + 80) * (float)(pair & 15),
                         .offset = -load_f16(block + 82) * (float)(pair >> 4)};
    load_fields<2, 32, 4>(block + 16, at, group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
