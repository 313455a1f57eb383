#pragma once

#include "backends/cuda/gpu/formats/levels.h"

namespace shunt::cuda::gpu {

/// value = d * level[q].
struct IQ4_NL : BlockFormat<32, 18> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    constexpr LevelTable kLevels = level_table(formats::kIq4Levels, 1);
    PackedGroup group = {.scale = load_f16(block)};
    load_fields<4, 16>(block + 2, at, group.numbers);
    look_up(kLevels, group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
