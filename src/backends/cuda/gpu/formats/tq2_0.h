#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * (q - 1).
struct TQ2_0 {
  static constexpr int kElements = 256, kBytes = 66;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const float d = load_f16(block + 64);
    int q[kGroup];
    fields<2, 32>(block, at, q);
    for (int i = 0; i < kGroup; ++i) to[i] = d * (float)(q[i] - 1);
  }
};

}  // namespace shunt::cuda::gpu
