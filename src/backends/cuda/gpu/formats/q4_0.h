#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * (q - 8).
struct Q4_0 {
  static constexpr int kElements = 32, kBytes = 18;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const float d = load_f16(block);
    int q[kGroup];
    fields<4, 16>(block + 2, at, q);
    for (int i = 0; i < kGroup; ++i) to[i] = d * (float)(q[i] - 8);
  }
};

}  // namespace shunt::cuda::gpu
