#pragma once

#include "backends/cuda/gpu/fields.h"

namespace shunt::cuda::gpu {

/// value = d * (q - 1).
struct TQ2_0 : BlockFormat<256, 66> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    PackedGroup group = {.scale = load_f16(block + 64)};
    load_fields<2, 32>(block, at, group.numbers);
    subtract<1>(group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
