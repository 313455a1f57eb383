#pragma once

#include "backends/cuda/gpu/fields.h"
#include "tensor/formats/levels.h"

namespace shunt::cuda::gpu {

/// Numbers of 8 bits for the 16 numbers of 4 bits.
struct LevelTable {
  u32 words[4];
};
/// Levels times `factor`, which makes integers of them.
consteval LevelTable level_table(const float (&levels)[16], int factor) {
  LevelTable table = {};
  for (int i = 0; i < 16; ++i)
    table.words[i / 4] |= (u32)(u8)(i8)(levels[i] * (float)factor) << i % 4 * 8;
  return table;
}

/// Replaces numbers of 4 bits by their levels.
DEVICE void look_up(const LevelTable& table, u32 (&numbers)[2]) {
  for (u32& word : numbers) {
    // Which of eight bytes, by four numbers of 4 bits: the lower three of the number.
    const u32 pairs = (word & 0x07070707) | (word & 0x07070707) >> 4;
    const u32 places = (pairs & 0xFF) | (pairs >> 8 & 0xFF00);
    const u32 lower = choose_bytes(table.words[0], table.words[1], places);
    const u32 upper = choose_bytes(table.words[2], table.words[3], places);
    const u32 is_upper = (word >> 3 & 0x01010101) * 0xFF;
    word = (lower & ~is_upper) | (upper & is_upper);
  }
}

}  // namespace shunt::cuda::gpu
