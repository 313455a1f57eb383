#pragma once

#include "backends/cuda/gpu/fields.h"
#include "tensor/formats/levels.h"

namespace shunt::cuda::gpu {

/// value = number * 2^(e - 127); e = 255 makes it not-a-number. Blocks may start at odd addresses.
struct MXFP4 {
  static constexpr int kElements = 32, kBytes = 17;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const u32 e = block[0];
    u32 bits = e << 23;
    if (e == 0) bits = 0x00400000;    // 2^-127
    if (e == 255) bits = 0x7FC00000;  // not-a-number
    const float scale = __builtin_bit_cast(float, bits);
    int q[kGroup];
    fields<4, 16>(block + 1, at, q);
    for (int i = 0; i < kGroup; ++i) to[i] = formats::kE2M1Numbers[q[i]] * scale;
  }
};

}  // namespace shunt::cuda::gpu
