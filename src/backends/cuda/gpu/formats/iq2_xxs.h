#pragma once

#include "backends/cuda/gpu/formats/vectors.h"

namespace shunt::cuda::gpu {

/// value = d * (s + 0.5) / 4 * vector.
struct IQ2_XXS {
  static constexpr int kElements = 256, kBytes = 66;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const u8* part = block + 2 + at / 32 * 8;
    const u32 v = at % 32 / kGroup;
    const u32 bits = load_u32(part + 4);
    const float scale = load_f16(block) * (0.5f + (float)(bits >> 28)) * 0.25f;
    const u64 vector = vector_of(formats::kIq2XxsVectors, part[v]);
    decode_signed(vector, formats::even_signs(bits >> 7 * v), scale, to);
  }
};

}  // namespace shunt::cuda::gpu
