#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * s * q - dmin * m.
struct Q2_K {
  static constexpr int kElements = 256, kBytes = 84;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const int pair = block[at / 16];
    const float scale = load_f16(block + 80) * (float)(pair & 15);
    const float minimum = load_f16(block + 82) * (float)(pair >> 4);
    int q[kGroup];
    fields<2, 32>(block + 16, at, q);
    for (int i = 0; i < kGroup; ++i) to[i] = scale * (float)q[i] - minimum;
  }
};

}  // namespace shunt::cuda::gpu
