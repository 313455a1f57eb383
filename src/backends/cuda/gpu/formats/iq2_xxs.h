#pragma once

#include "backends/cuda/gpu/formats/vectors.h"

namespace shunt::cuda::gpu {

/// value = d * (s + 0.5) / 4 * vector.
struct IQ2_XXS : BlockFormat<256, 66> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    const u8* part = block + 2 + at / 32 * 8;
    const u32 v = at % 32 / kGroup;
    const u32 bits = load_u32(part + 4);
    PackedGroup group = {.scale = load_f16(block) * (0.5f + (float)(bits >> 28)) * 0.25f};
    load_vector(formats::kIq2XxsVectors, part[v], group.numbers);
    apply_signs(formats::even_signs(bits >> 7 * v), group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
