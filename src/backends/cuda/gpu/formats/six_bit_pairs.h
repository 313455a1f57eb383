#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// The group of a part of 32 elements, as Q4_K and Q5_K have them, without its numbers:
/// value = d * s * q - dmin * m.
DEVICE PackedGroup six_bit_pair(const u8* block, u32 part) {
  const u8* pairs = block + 4;
  int s = pairs[part & 3], m = pairs[4 + (part & 3)];
  if (part < 4) {
    s &= 63;
    m &= 63;
  } else {
    const int rest = pairs[8 + (part & 3)];
    s = (rest & 15) | (s >> 6) << 4;
    m = rest >> 4 | (m >> 6) << 4;
  }
  return {{}, load_f16(block) * (float)s, -load_f16(block + 2) * (float)m};
}

}  // namespace shunt::cuda::gpu
