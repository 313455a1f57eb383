#pragma once

#include "backends/cuda/gpu/formats/vectors.h"

namespace shunt::cuda::gpu {

/// value = d * (s + 0.5) / 4 * vector.
struct IQ2_XS : BlockFormat<256, 74, !kWithOffset, 16> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    const u32 bits = load_u16(block + 2 + at / kGroup * 2);
    const u32 s = field<4, 1>(block + 66, at / 16);
    PackedGroup group = {.scale = load_f16(block) * (0.5f + (float)s) * 0.25f};
    load_vector(formats::kIq2XsVectors, bits & 511, group.numbers);
    apply_signs(formats::even_signs(bits >> 9), group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
