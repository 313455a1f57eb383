#pragma once

#include "backends/cuda/gpu/formats/six_bit_pairs.h"

namespace shunt::cuda::gpu {

/// value = d * s * q - dmin * m.
struct Q4_K : BlockFormat<256, 144, kWithOffset> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    PackedGroup group = six_bit_pair(block, at / 32);
    load_fields<4, 32, 4>(block + 16, at, group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
