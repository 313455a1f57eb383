// The common structure of the K formats. A block of 256 elements is cut into parts of 16 or 32,
// each with a scale (and, in some, a smallest value) of a few bits. One F16 for the block scales
// these.
#pragma once

#include <cstdint>

#include "tensor/formats/bits.h"

namespace shunt::formats {

inline constexpr int kBlockElements = 256;

/// Scales and minimums of 6 bits for 8 parts of 32, in 12 bytes: Q4_K and Q5_K. Those of parts 0 to
/// 3 are the low bits of bytes 0 to 3 and 4 to 7. Those of parts 4 to 7 have their lower 4 bits in
/// the halves of bytes 8 to 11, and their upper 2 on top of bytes 0 to 3 and 4 to 7.
struct SixBitPairs {
  static constexpr int kParts = 8;
  std::uint8_t scale[kParts];
  std::uint8_t minimum[kParts];

  static SixBitPairs load(const std::byte* from) {
    SixBitPairs pairs;
    for (int i = 0; i < 4; ++i) {
      const int a = std::to_integer<int>(from[i]);
      const int b = std::to_integer<int>(from[i + 4]);
      const int c = std::to_integer<int>(from[i + 8]);
      pairs.scale[i] = static_cast<std::uint8_t>(a & 63);
      pairs.minimum[i] = static_cast<std::uint8_t>(b & 63);
      pairs.scale[i + 4] = static_cast<std::uint8_t>((c & 15) | a >> 6 << 4);
      pairs.minimum[i + 4] = static_cast<std::uint8_t>(c >> 4 | b >> 6 << 4);
    }
    return pairs;
  }
  static void store(const std::uint8_t (&scale)[kParts], const std::uint8_t (&minimum)[kParts],
                    std::byte* to) {
    for (int i = 0; i < 4; ++i) {
      to[i] = static_cast<std::byte>(scale[i] | scale[i + 4] >> 4 << 6);
      to[i + 4] = static_cast<std::byte>(minimum[i] | minimum[i + 4] >> 4 << 6);
      to[i + 8] = static_cast<std::byte>((scale[i + 4] & 15) | (minimum[i + 4] & 15) << 4);
    }
  }
};

}  // namespace shunt::formats
