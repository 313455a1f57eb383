#pragma once

#include "backends/cuda/gpu/formats/levels.h"

namespace shunt::cuda::gpu {

/// value = number * 2^(e - 127); e = 255 makes it not-a-number. Blocks may start at odd addresses.
struct MXFP4 : BlockFormat<32, 17> {
  DEVICE PackedGroup group(const u8* block, u32 at) {
    constexpr LevelTable kDoubled = level_table(formats::kE2M1Numbers, 2);
    const u32 e = block[0];
    u32 bits = (e - 1) << 23;  // 2^(e - 127) / 2
    if (e < 2) bits = e == 1 ? 0x00400000 : 0x00200000;
    if (e == 255) bits = 0x7FC00000;  // not-a-number
    PackedGroup group = {.scale = __builtin_bit_cast(float, bits)};
    load_fields<4, 16, 1>(block + 1, at, group.numbers);
    look_up(kDoubled, group.numbers);
    return group;
  }
};

}  // namespace shunt::cuda::gpu
