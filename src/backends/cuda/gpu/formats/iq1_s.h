#pragma once

#include "backends/cuda/gpu/formats/vectors.h"

namespace shunt::cuda::gpu {

/// value = d * (2 * s + 1) * (vector + shift).
struct IQ1_S : BlockFormat<256, 50, kWithOffset> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    const u32 v = at / kGroup;
    const u32 bits = load_u16(block + 34 + v / 4 * 2);
    const u32 index = block[2 + v] | (bits >> 3 * (v % 4) & 7) << 8;
    const float scale = load_f16(block) * (float)(2 * (bits >> 12 & 7) + 1);
    PackedGroup group = {.scale = scale, .offset = shift_of(scale, bits >> 15 != 0)};
    load_vector(formats::kIq1Vectors, index, group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
