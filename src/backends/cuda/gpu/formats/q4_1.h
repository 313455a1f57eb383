#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * q + m.
struct Q4_1 {
  static constexpr int kElements = 32, kBytes = 20;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const float d = load_f16(block), m = load_f16(block + 2);
    int q[kGroup];
    fields<4, 16>(block + 4, at, q);
    for (int i = 0; i < kGroup; ++i) to[i] = d * (float)q[i] + m;
  }
};

}  // namespace shunt::cuda::gpu
