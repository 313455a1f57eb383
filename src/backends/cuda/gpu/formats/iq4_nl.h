#pragma once

#include "backends/cuda/gpu/fields.h"
#include "tensor/formats/levels.h"

namespace shunt::cuda::gpu {

/// value = d * level[q].
struct IQ4_NL {
  static constexpr int kElements = 32, kBytes = 18;
  DEVICE void decode_group(const u8* block, u32 at, float (&to)[kGroup]) {
    const float d = load_f16(block);
    int q[kGroup];
    fields<4, 16>(block + 2, at, q);
    for (int i = 0; i < kGroup; ++i) to[i] = d * formats::kIq4Levels[q[i]];
  }
};

}  // namespace shunt::cuda::gpu
