// What a block of a mask's row says, found out before any of it is decoded.
#pragma once

#include <cstring>
#include <limits>

#include "backends/cpu/kernels/rows.h"

namespace shunt::cpu {

/// For `count` keys.
struct SeenKeys {
  std::int64_t count;  ///< all from here on are hidden, by minus infinity
  bool plain;          ///< nothing is added to those before; else the mask has been decoded
};

/// Whether `bytes` bytes (a multiple of 2) are repetitions of `pattern`.
inline bool repeats(const std::byte* from, std::size_t bytes, std::uint64_t pattern) {
  std::uint64_t differs = 0;
  std::size_t i = 0;
  for (; i + sizeof pattern <= bytes; i += sizeof pattern) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + i, sizeof word);
    differs |= word ^ pattern;
  }
  return differs == 0 && (i == bytes || std::memcmp(from + i, &pattern, bytes - i) == 0);
}

/// Reads the mask of `count` keys from `first` on, to `to` if there is need to.
inline SeenKeys read_mask(const TensorArg& mask, std::byte* row, std::int64_t first,
                          std::int64_t count, float* to) {
  if (has_plain_rows(mask)) {
    const std::byte* from = element(mask, row, first);
    const auto bytes = static_cast<std::size_t>(count) * trait(mask.dtype).block_bytes;
    if (repeats(from, bytes, 0)) return {count, true};
    if (repeats(from, bytes, mask.dtype == DType::kF16 ? 0xfc00fc00fc00fc00 : 0xff800000ff800000)) {
      return {0, true};
    }
  }
  read_f32(mask, row, first, count, to);
  while (count > 0 && to[count - 1] == -std::numeric_limits<float>::infinity()) --count;
  return {count, false};
}

}  // namespace shunt::cpu
