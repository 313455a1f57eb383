// Parts of block formats: numbers of a few bits that share bytes, and loads from blocks. Blocks
// start at even addresses, unless their format says otherwise.
#pragma once

#include "backends/cuda/gpu/formats.h"

namespace shunt::cuda::gpu {

DEVICE u32 load_u16(const u8* at) {
  return *(const u16*)at;
}
DEVICE u32 load_u32(const u8* at) {
  return load_u16(at) | load_u16(at + 2) << 16;
}

/// Field `e` of fields of kBits bits that share bytes in runs of kRun elements: as
/// formats::Fields on the host.
template <int kBits, int kRun>
DEVICE int field(const u8* bytes, u32 e) {
  constexpr u32 kInByte = 8 / kBits;
  const u32 byte = e / (kRun * kInByte) * kRun + e % kRun;
  return bytes[byte] >> (e / kRun % kInByte * kBits) & ((1 << kBits) - 1);
}
/// Those of a group of elements from `at` on, a multiple of kGroup.
template <int kBits, int kRun>
DEVICE void fields(const u8* bytes, u32 at, int (&to)[kGroup]) {
  static_assert(kRun == 1 || kRun % kGroup == 0);
  constexpr u32 kInByte = 8 / kBits;
  constexpr int kMask = (1 << kBits) - 1;
  if constexpr (kRun == 1) {
    for (int i = 0; i < kGroup; ++i)
      to[i] = bytes[at / kInByte + i / kInByte] >> i % kInByte * kBits & kMask;
  } else {
    const u8* first = bytes + at / (kRun * kInByte) * kRun + at % kRun;
    const u32 shift = at / kRun % kInByte * kBits;
    for (int i = 0; i < kGroup; ++i) to[i] = first[i] >> shift & kMask;
  }
}

}  // namespace shunt::cuda::gpu
