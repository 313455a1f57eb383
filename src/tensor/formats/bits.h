// Fields of a few bits, and how they share bytes. In all formats runs of consecutive elements are
// in consecutive bytes. The first run is in the lowest bits of these bytes, the next run in the
// bits above, until the bytes are full. Then come further bytes. 4 bits in runs of 16 (Q4_0):
// element j is the low half of byte j, element j + 16 its high half. 1 bit in runs of 1: bit after
// bit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tensor/byte_order.h"
#include "tensor/formats/half.h"

namespace shunt::formats {

template <int Bits, int Run>
struct Fields {
  static constexpr int kMask = (1 << Bits) - 1;
  static constexpr int kInByte = 8 / Bits;

  /// Calls f(byte, shift, element) for `count` elements: a multiple of Run * kInByte.
  template <class F>
  static constexpr void for_each(int count, F f) {
    for (int group = 0; group < count / (Run * kInByte); ++group) {
      for (int part = 0; part < kInByte; ++part) {
        for (int i = 0; i < Run; ++i) {
          f(group * Run + i, part * Bits, (group * kInByte + part) * Run + i);
        }
      }
    }
  }

  static constexpr void unpack(const std::byte* from, int count, std::uint8_t* to) {
    for_each(count, [&](int byte, int shift, int element) {
      to[element] = static_cast<std::uint8_t>(std::to_integer<int>(from[byte]) >> shift & kMask);
    });
  }
  /// The same, as the bits from `above` on of the numbers in `to`.
  static constexpr void unpack_above(const std::byte* from, int count, int above,
                                     std::uint8_t* to) {
    for_each(count, [&](int byte, int shift, int element) {
      const int field = std::to_integer<int>(from[byte]) >> shift & kMask;
      to[element] = static_cast<std::uint8_t>(to[element] | field << above);
    });
  }
  /// The lowest bits of each element of `from` >> `above`. Other contents of the bytes are
  /// overwritten.
  static constexpr void pack(const std::uint8_t* from, int count, int above, std::byte* to) {
    for_each(count, [&](int byte, int shift, int element) {
      const int field = (from[element] >> above & kMask) << shift;
      to[byte] =
          shift == 0 ? static_cast<std::byte>(field) : to[byte] | static_cast<std::byte>(field);
    });
  }
};

inline float load_f16(const std::byte* from) {
  return f16_to_f32(load_little<std::uint16_t>(from));
}
/// The F16 nearest to a number, never infinite: larger numbers become the largest one.
inline std::uint16_t finite_f16(float value) {
  return f32_to_f16(std::clamp(value, -kLargestF16, kLargestF16));
}
inline void store_f16(float value, std::byte* to) {
  store_little(finite_f16(value), to);
}

}  // namespace shunt::formats
