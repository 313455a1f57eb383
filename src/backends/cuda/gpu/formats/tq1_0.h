#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * (q - 1).
struct TQ1_0 : BlockFormat<256, 54> {
  /// Digit `place` of bytes 0 and 2 of a word: fractions of 256 in base 3.
  DEVICE u32 digits(u32 word, u32 place) {
    constexpr u32 kTwoBytes = 0x00FF00FF;
    constexpr u64 kPowers = 0x511B090301;  // of 3, a byte each
    const u32 rest = (word & kTwoBytes) * (u32)(kPowers >> 8 * place & 0xFF) & kTwoBytes;
    return rest * 3 >> 8 & kTwoBytes;
  }
  DEVICE PackedGroup group(const u8* block, u32 at) {
    PackedGroup group = {.scale = load_f16(block + 52)};
    for (u32 w = 0; w < 2; ++w) {
      u32 e = at + 4 * w, run = 32, first = 0;
      if (at >= 160) e -= 160, run = 16, first = 32;
      if (at >= 240) e -= 80, run = 4, first = 48;
      const u32 bytes = load_u32(block + first + e % run);
      group.numbers[w] = digits(bytes, e / run) | digits(bytes >> 8, e / run) << 8;
    }
    subtract<1>(group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
