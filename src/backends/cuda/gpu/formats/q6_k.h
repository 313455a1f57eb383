#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * s * (q - 32).
struct Q6_K {
  static constexpr int kElements = 256, kBytes = 210;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const float scale = load_f16(block + 208) * (float)((const i8*)block)[192 + at / 16];
    int q[kGroup], high[kGroup];
    fields<4, 64>(block, at, q);
    fields<2, 32>(block + 128, at, high);
    for (int i = 0; i < kGroup; ++i) to[i] = scale * (float)((q[i] | high[i] << 4) - 32);
  }
};

}  // namespace shunt::cuda::gpu
