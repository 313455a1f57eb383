#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * q + m.
struct Q5_1 {
  static constexpr int kElements = 32, kBytes = 24;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const float d = load_f16(block), m = load_f16(block + 2);
    int q[kGroup], high[kGroup];
    fields<4, 16>(block + 8, at, q);
    fields<1, 1>(block + 4, at, high);
    for (int i = 0; i < kGroup; ++i) to[i] = d * (float)(q[i] | high[i] << 4) + m;
  }
};

}  // namespace shunt::cuda::gpu
