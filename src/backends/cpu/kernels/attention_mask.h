// What a piece of a mask's row says, found out without decoding it.
#pragma once

#include <cstring>
#include <limits>

#include "backends/cpu/kernels/rows.h"

namespace shunt::cpu {

/// Of some keys.
struct SeenKeys {
  std::int64_t count;  ///< all from here on are hidden, by minus infinity
  bool plain;          ///< nothing is added to those before

  bool hidden() const { return count == 0; }
};

/// The bits of minus infinity, as often as they fit.
inline std::uint64_t minus_infinities(DType dtype) {
  return dtype == DType::kF16 ? 0xfc00fc00fc00fc00 : 0xff800000ff800000;
}

/// Whether `bytes` bytes (a multiple of an element) are repetitions of `pattern`.
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

/// What the mask, F32 or F16, says of `count` keys from `first` on.
inline SeenKeys look_at_mask(const TensorArg& mask, std::byte* row, std::int64_t first,
                             std::int64_t count) {
  const std::byte* from = element(mask, row, first);
  const std::uint64_t hidden = minus_infinities(mask.dtype);
  const std::int64_t width = mask.dtype == DType::kF16 ? 2 : 4;
  if (mask.strides[0] == width) {
    if (repeats(from, static_cast<std::size_t>(count * width), 0)) return {count, true};
    constexpr std::int64_t kStep = 16;
    while (count >= kStep && repeats(from + (count - kStep) * width,
                                     static_cast<std::size_t>(kStep * width), hidden)) {
      count -= kStep;
    }
  }
  const auto is_hidden = [&](const std::byte* at) {
    return std::memcmp(at, &hidden, static_cast<std::size_t>(width)) == 0;
  };
  while (count > 0 && is_hidden(from + (count - 1) * mask.strides[0])) --count;
  return {count, count == 0};
}

}  // namespace shunt::cpu
