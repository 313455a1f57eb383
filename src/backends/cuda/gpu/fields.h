// Parts of block formats: numbers of a few bits that share bytes, packed to numbers of 8 bits, four
// to a word. Blocks start at even addresses, unless their format says otherwise.
#pragma once

#include "backends/cuda/gpu/formats.h"

namespace shunt::cuda::gpu {

/// Eight elements of a block: element i is scale * (number i) + offset. Numbers have 8 bits and a
/// sign, the first of four in the lowest bits.
struct PackedGroup {
  u32 numbers[2] = {};
  float scale = 0, offset = 0;
};

template <int Elements, int Bytes, bool HasOffset = false, int ElementsPerScale = 32>
struct BlockFormat {
  static constexpr int kElements = Elements, kBytes = Bytes;
  static constexpr bool kHasOffset = HasOffset;  ///< else it is 0
  /// Elements with one scale and one offset, at most 32.
  static constexpr int kElementsPerScale = ElementsPerScale;
};
inline constexpr bool kWithOffset = true;

DEVICE u32 load_u16(const u8* at) {
  return *(const u16*)at;
}
/// Of a multiple of `kAlignment`.
template <int kAlignment = 2>
DEVICE u32 load_u32(const u8* at) {
  if constexpr (kAlignment == 4) return *(const u32*)at;
  if constexpr (kAlignment == 2) return load_u16(at) | load_u16(at + 2) << 16;
  return at[0] | at[1] << 8 | at[2] << 16 | (u32)at[3] << 24;
}

/// Field `e` of fields of kBits bits that share bytes in runs of kRun elements: as
/// formats::Fields on the host.
template <int kBits, int kRun>
DEVICE u32 field(const u8* bytes, u32 e) {
  constexpr u32 kInByte = 8 / kBits;
  const u32 byte = e / (kRun * kInByte) * kRun + e % kRun;
  return bytes[byte] >> (e / kRun % kInByte * kBits) & ((1 << kBits) - 1);
}

/// The fields of a group: elements from `at` on, a multiple of kGroup.
template <int kBits, int kRun, int kAlignment = 2>
DEVICE void load_fields(const u8* bytes, u32 at, u32 (&to)[2]) {
  static_assert(kRun % kGroup == 0);
  constexpr u32 kInByte = 8 / kBits, kMask = ((1 << kBits) - 1) * 0x01010101u;
  const u8* first = bytes + at / (kRun * kInByte) * kRun + at % kRun;
  const u32 shift = at / kRun % kInByte * kBits;
  for (int w = 0; w < 2; ++w) to[w] = load_u32<kAlignment>(first + 4 * w) >> shift & kMask;
}
/// The same as the bits from `kAbove` on of the numbers in `to`.
template <int kAbove, int kBits, int kRun, int kAlignment = 2>
DEVICE void add_fields(const u8* bytes, u32 at, u32 (&to)[2]) {
  u32 above[2];
  load_fields<kBits, kRun, kAlignment>(bytes, at, above);
  for (int w = 0; w < 2; ++w) to[w] |= above[w] << kAbove;
}

/// Four bits as four numbers of 8 bits.
DEVICE u32 spread_bits(u32 bits) {
  return (bits & 15) * 0x00204081 & 0x01010101;
}
/// The bits of a group, a byte, as bit `kAbove` of its numbers.
template <int kAbove>
DEVICE void add_bits(u32 byte, u32 (&to)[2]) {
  for (int w = 0; w < 2; ++w) to[w] |= spread_bits(byte >> 4 * w) << kAbove;
}

/// numbers - kLess, where the numbers are below 128 and kLess is at most 128.
template <int kLess>
DEVICE void subtract(u32 (&numbers)[2]) {
  for (int w = 0; w < 2; ++w)
    numbers[w] = ((numbers[w] | 0x80808080u) - kLess * 0x01010101u) ^ 0x80808080u;
}

DEVICE float number_at(const u32 (&numbers)[2], int i) {
  return (float)((i32)(numbers[i / 4] << (24 - i % 4 * 8)) >> 24);
}

}  // namespace shunt::cuda::gpu
