#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * (q - 8).
struct Q4_0 : BlockFormat<32, 18> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    PackedGroup group = {.scale = load_f16(block)};
    load_fields<4, 16>(block + 2, at, group.numbers);
    subtract<8>(group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
