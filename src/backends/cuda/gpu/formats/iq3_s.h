#pragma once

#include "backends/cuda/gpu/formats/vectors.h"

namespace shunt::cuda::gpu {

/// value = d * (2 * s + 1) * vector.
struct IQ3_S {
  static constexpr int kElements = 256, kBytes = 110;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const u32 v = at / 4;
    const u32 first = block[2 + v] | (u32)field<1, 1>(block + 66, v) << 8;
    const u32 second = block[3 + v] | (u32)field<1, 1>(block + 66, v + 1) << 8;
    const int s = field<4, 1>(block + 106, at / 32);
    const float scale = load_f16(block) * (float)(2 * s + 1);
    decode_signed(vectors_of(formats::kIq3SVectors, first, second), block[74 + at / kGroup], scale,
                  to);
  }
};

}  // namespace shunt::cuda::gpu
