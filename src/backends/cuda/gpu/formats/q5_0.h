#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * (q - 16).
struct Q5_0 : BlockFormat<32, 22> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    PackedGroup group = {.scale = load_f16(block)};
    load_fields<4, 16>(block + 6, at, group.numbers);
    add_bits<4>(block[2 + at / kGroup], group.numbers);
    subtract<16>(group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
