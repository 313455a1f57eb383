#pragma once

#include "backends/cuda/gpu/formats/six_bit_pairs.h"

namespace shunt::cuda::gpu {

/// value = scale * q - minimum.
struct Q5_K {
  static constexpr int kElements = 256, kBytes = 176;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const SixBitPair pair = six_bit_pair(block, at / 32);
    int q[kGroup], high[kGroup];
    fields<4, 32>(block + 48, at, q);
    fields<1, 32>(block + 16, at, high);
    for (int i = 0; i < kGroup; ++i)
      to[i] = pair.scale * (float)(q[i] | high[i] << 4) - pair.minimum;
  }
};

}  // namespace shunt::cuda::gpu
