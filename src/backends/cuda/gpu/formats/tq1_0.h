#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// Numbers q of 0 to 2, five to a byte, and a scale d (F16). value = d * (q - 1). A byte is a
/// fraction of 256 whose digits in base 3 are the numbers. The numbers with the same place in their
/// bytes are neighbours: in runs of 32 elements up to 160, of 16 up to 240, then of 4.
struct TQ1_0 {
  static constexpr int kElements = 256, kBytes = 54;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const float d = load_f16(block + 52);
    for (int i = 0; i < kGroup; ++i) {
      u32 e = at + i, run = 32, first = 0;
      if (at >= 160) e -= 160, run = 16, first = 32;
      if (at >= 240) e -= 80, run = 4, first = 48;
      u32 rest = block[first + e % run];
      for (u32 digit = e / run; digit > 0; --digit) rest = rest * 3 & 255;
      to[i] = d * (float)((int)(rest * 3 >> 8) - 1);
    }
  }
};

}  // namespace shunt::cuda::gpu
