#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * s * (q - 32).
struct Q6_K : BlockFormat<256, 210, !kWithOffset, 16> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    PackedGroup group = {.scale = load_f16(block + 208) * (float)((const i8*)block)[192 + at / 16]};
    load_fields<4, 64>(block, at, group.numbers);
    add_fields<4, 2, 32>(block + 128, at, group.numbers);
    subtract<32>(group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
