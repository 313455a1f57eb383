#pragma once

#include "backends/cuda/gpu/formats/vectors.h"

namespace shunt::cuda::gpu {

/// value = d * (s + 0.5) / 2 * vector.
struct IQ3_XXS : BlockFormat<256, 98> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    const u32 bits = load_u32(block + 66 + at / 32 * 4);
    const u8* index = block + 2 + at / 4;
    PackedGroup group = {.numbers = {vector_of(formats::kIq3XxsVectors, index[0]),
                                     vector_of(formats::kIq3XxsVectors, index[1])},
                         .scale = load_f16(block) * (0.5f + (float)(bits >> 28)) * 0.5f};
    apply_signs(formats::even_signs(bits >> 7 * (at % 32 / kGroup)), group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
