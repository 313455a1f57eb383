#pragma once

#include "backends/cuda/gpu/formats/vectors.h"

namespace shunt::cuda::gpu {

/// value = d * (2 * s + 1) * (vector + shift).
struct IQ1_M : BlockFormat<256, 56, kWithOffset, 8> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    const u32 v = at / kGroup;
    const u8* words = block + 48;
    u32 d = 0;
    for (int i = 0; i < 4; ++i) d |= (load_u16(words + 2 * i) >> 12) << 4 * i;
    const u32 high = field<4, 1>(block + 32, v);
    const u32 s = load_u16(words + v / 8 * 2) >> 3 * (v / 2 % 4) & 7;
    const float scale = float_of_f16((u16)d) * (float)(2 * s + 1);
    PackedGroup group = {.scale = scale, .offset = shift_of(scale, (high & 8) != 0)};
    load_vector(formats::kIq1Vectors, block[v] | (high & 7) << 8, group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
