#pragma once

#include "backends/cuda/gpu/formats/vectors.h"

namespace shunt::cuda::gpu {

/// value = d * (s + 0.5) / 2 * vector.
struct IQ3_XXS {
  static constexpr int kElements = 256, kBytes = 98;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const u32 bits = load_u32(block + 66 + at / 32 * 4);
    const u8* index = block + 2 + at / 4;
    const float scale = load_f16(block) * (0.5f + (float)(bits >> 28)) * 0.5f;
    const u64 vectors = vectors_of(formats::kIq3XxsVectors, index[0], index[1]);
    decode_signed(vectors, formats::even_signs(bits >> 7 * (at % 32 / kGroup)), scale, to);
  }
};

}  // namespace shunt::cuda::gpu
