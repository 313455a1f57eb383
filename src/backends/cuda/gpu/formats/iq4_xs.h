#pragma once

#include "backends/cuda/gpu/fields.h"
#include "tensor/formats/levels.h"

namespace shunt::cuda::gpu {

/// value = d * (s - 32) * level[q].
struct IQ4_XS {
  static constexpr int kElements = 256, kBytes = 136;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const u32 part = at / 32;
    const int s = field<4, 1>(block + 4, part) | field<2, 1>(block + 2, part) << 4;
    const float scale = load_f16(block) * (float)(s - 32);
    int q[kGroup];
    fields<4, 16>(block + 8, at, q);
    for (int i = 0; i < kGroup; ++i) to[i] = scale * formats::kIq4Levels[q[i]];
  }
};

}  // namespace shunt::cuda::gpu
