#pragma once

#include "backends/cuda/gpu/formats/vectors.h"

namespace shunt::cuda::gpu {

/// value = d * (s + 0.5) / 4 * vector.
struct IQ2_S {
  static constexpr int kElements = 256, kBytes = 82;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const u32 v = at / kGroup;
    const u32 index = block[2 + v] | (u32)field<2, 1>(block + 66, v) << 8;
    const int s = field<4, 1>(block + 74, at / 16);
    const float scale = load_f16(block) * (0.5f + (float)s) * 0.25f;
    decode_signed(vector_of(formats::kIq2SVectors, index), block[34 + v], scale, to);
  }
};

}  // namespace shunt::cuda::gpu
