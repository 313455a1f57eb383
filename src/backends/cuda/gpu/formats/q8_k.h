#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * q.
struct Q8_K {
  static constexpr int kElements = 256, kBytes = 292;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const float d = *(const float*)block;
    const i8* q = (const i8*)block + 4 + at;
    for (int i = 0; i < kGroup; ++i) to[i] = d * (float)q[i];
  }
};

}  // namespace shunt::cuda::gpu
