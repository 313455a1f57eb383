#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * (s - 32) * (q - 4).
struct Q3_K {
  static constexpr int kElements = 256, kBytes = 110;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const u32 part = at / 16;
    const int s = field<4, 8>(block + 96, part) | field<2, 4>(block + 104, part) << 4;
    const float scale = load_f16(block + 108) * (float)(s - 32);
    int q[kGroup], high[kGroup];
    fields<2, 32>(block + 32, at, q);
    fields<1, 32>(block, at, high);
    for (int i = 0; i < kGroup; ++i) to[i] = scale * (float)((q[i] | high[i] << 2) - 4);
  }
};

}  // namespace shunt::cuda::gpu
