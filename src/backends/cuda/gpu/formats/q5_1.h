#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * q + m.
struct Q5_1 : BlockFormat<32, 24, kWithOffset> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    PackedGroup group = {.scale = load_f16(block), .offset = load_f16(block + 2)};
    load_fields<4, 16, 4>(block + 8, at, group.numbers);
    add_bits<4>(block[4 + at / kGroup], group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
