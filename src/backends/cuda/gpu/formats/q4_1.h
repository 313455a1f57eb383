#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * q + m.
struct Q4_1 : BlockFormat<32, 20, kWithOffset> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    PackedGroup group = {.scale = load_f16(block), .offset = load_f16(block + 2)};
    load_fields<4, 16, 4>(block + 4, at, group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
