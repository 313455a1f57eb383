#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * (q - 16).
struct Q5_0 {
  static constexpr int kElements = 32, kBytes = 22;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const float d = load_f16(block);
    int q[kGroup], high[kGroup];
    fields<4, 16>(block + 6, at, q);
    fields<1, 1>(block + 2, at, high);
    for (int i = 0; i < kGroup; ++i) to[i] = d * (float)((q[i] | high[i] << 4) - 16);
  }
};

}  // namespace shunt::cuda::gpu
