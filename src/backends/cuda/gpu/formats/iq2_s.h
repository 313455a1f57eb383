#pragma once

#include "backends/cuda/gpu/formats/vectors.h"

namespace shunt::cuda::gpu {

/// value = d * (s + 0.5) / 4 * vector.
struct IQ2_S : BlockFormat<256, 82, !kWithOffset, 16> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    const u32 v = at / kGroup;
    const u32 index = block[2 + v] | field<2, 1>(block + 66, v) << 8;
    const u32 s = field<4, 1>(block + 74, at / 16);
    PackedGroup group = {.scale = load_f16(block) * (0.5f + (float)s) * 0.25f};
    load_vector(formats::kIq2SVectors, index, group.numbers);
    apply_signs(block[34 + v], group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
