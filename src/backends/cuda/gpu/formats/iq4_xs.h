#pragma once

#include "backends/cuda/gpu/formats/levels.h"

namespace shunt::cuda::gpu {

/// value = d * (s - 32) * level[q].
struct IQ4_XS : BlockFormat<256, 136> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    constexpr LevelTable kLevels = level_table(formats::kIq4Levels, 1);
    const u32 part = at / 32;
    const u32 s = field<4, 1>(block + 4, part) | field<2, 1>(block + 2, part) << 4;
    PackedGroup group = {.scale = load_f16(block) * (float)((int)s - 32)};
    load_fields<4, 16, 4>(block + 8, at, group.numbers);
    look_up(kLevels, group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
