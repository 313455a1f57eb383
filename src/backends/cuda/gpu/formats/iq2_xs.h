#pragma once

#include "backends/cuda/gpu/formats/vectors.h"

namespace shunt::cuda::gpu {

/// value = d * (s + 0.5) / 4 * vector.
struct IQ2_XS {
  static constexpr int kElements = 256, kBytes = 74;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const u32 bits = load_u16(block + 2 + at / kGroup * 2);
    const int s = field<4, 1>(block + 66, at / 16);
    const float scale = load_f16(block) * (0.5f + (float)s) * 0.25f;
    const u64 vector = vector_of(formats::kIq2XsVectors, bits & 511);
    decode_signed(vector, formats::even_signs(bits >> 9), scale, to);
  }
};

}  // namespace shunt::cuda::gpu
