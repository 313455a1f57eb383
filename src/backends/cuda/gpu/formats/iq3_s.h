#pragma once

#include "backends/cuda/gpu/formats/vectors.h"

namespace shunt::cuda::gpu {

/// value = d * (2 * s + 1) * vector.
struct IQ3_S : BlockFormat<256, 110> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    const u32 s = field<4, 1>(block + 106, at / 32);
    PackedGroup group = {.scale = load_f16(block) * (float)(2 * s + 1)};
    for (u32 w = 0; w < 2; ++w) {
      const u32 v = at / 4 + w;
      const u32 index = block[2 + v] | field<1, 1>(block + 66, v) << 8;
      group.numbers[w] = vector_of(formats::kIq3SVectors, index);
    }
    apply_signs(block[74 + at / kGroup], group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
