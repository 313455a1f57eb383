#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * (s - 32) * (q - 4).
struct Q3_K : BlockFormat<256, 110, !kWithOffset, 16> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    const u32 part = at / 16;
    const u32 s = field<4, 8>(block + 96, part) | field<2, 4>(block + 104, part) << 4;
    PackedGroup group = {.scale = load_f16(block + 108) * (float)((int)s - 32)};
    load_fields<2, 32>(block + 32, at, group.numbers);
    add_fields<2, 1, 32>(block, at, group.numbers);
    subtract<4>(group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
