// Element types as kernels read and write them. A format decodes eight elements at once: element
// `first` of a row, a multiple of eight, and those after it. All formats are little-endian; blocks
// start at even addresses.
#pragma once

#include "backends/cuda/gpu/dialect.h"

namespace shunt::cuda::gpu {

inline constexpr int kGroup = 8;

DEVICE float float_of_f16(u16 bits) {
  return (float)__builtin_bit_cast(_Float16, bits);
}
DEVICE u16 f16_of_float(float value) {
  return __builtin_bit_cast(u16, (_Float16)value);
}
DEVICE float float_of_bf16(u16 bits) {
  return __builtin_bit_cast(float, (u32)bits << 16);
}
/// To nearest even; not-a-number stays one.
DEVICE u16 bf16_of_float(float value) {
  const u32 bits = __builtin_bit_cast(u32, value);
  if (value != value) return (u16)(bits >> 16 | 0x40);
  return (u16)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
DEVICE float load_f16(const u8* at) {
  return float_of_f16(*(const u16*)at);
}

/// Types of single elements.
struct F32 {
  using Stored = float;
  DEVICE float value(float stored) { return stored; }
  DEVICE float stored(float value) { return value; }
};
struct F16 {
  using Stored = u16;
  DEVICE float value(u16 stored) { return float_of_f16(stored); }
  DEVICE u16 stored(float value) { return f16_of_float(value); }
};
struct BF16 {
  using Stored = u16;
  DEVICE float value(u16 stored) { return float_of_bf16(stored); }
  DEVICE u16 stored(float value) { return bf16_of_float(value); }
};

/// Element i of a row whose elements are `stride` bytes apart.
template <class Plain>
DEVICE float load(const u8* row, i64 i, i64 stride) {
  return Plain::value(*(const typename Plain::Stored*)(row + i * stride));
}
template <class Plain>
DEVICE void store(u8* row, i64 i, i64 stride, float value) {
  *(typename Plain::Stored*)(row + i * stride) = Plain::stored(value);
}

/// 32 elements in 34 bytes: a scale (F16) and numbers of 8 bits.
struct Q8_0 {
  static constexpr int kElements = 32, kBytes = 34;
  DEVICE void decode(const u8* row, i64 first, float (&to)[kGroup]) {
    const u8* block = row + first / kElements * kBytes;
    const float d = load_f16(block);
    const i8* q = (const i8*)block + 2 + first % kElements;
    for (int i = 0; i < kGroup; ++i) to[i] = d * (float)q[i];
  }
};

/// Numbers of 4 bits: byte i has number i in its lower half and number i + 16 in its upper half.
DEVICE int nibble(const u8* bytes, i64 i, i64 half) {
  return bytes[i % half] >> (i < half ? 0 : 4) & 15;
}

/// 32 elements in 18 bytes: a scale d (F16) and numbers q of 4 bits. value = d * (q - 8).
struct Q4_0 {
  static constexpr int kElements = 32, kBytes = 18;
  DEVICE void decode(const u8* row, i64 first, float (&to)[kGroup]) {
    const u8* block = row + first / kElements * kBytes;
    const float d = load_f16(block);
    for (int i = 0; i < kGroup; ++i)
      to[i] = d * (float)(nibble(block + 2, first % kElements + i, 16) - 8);
  }
};

/// The same with a table of levels for the numbers.
struct IQ4_NL {
  static constexpr int kElements = 32, kBytes = 18;
  DEVICE void decode(const u8* row, i64 first, float (&to)[kGroup]) {
    constexpr i8 kLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                1,    13,   25,  38,  53,  69,  89,  113};
    const u8* block = row + first / kElements * kBytes;
    const float d = load_f16(block);
    for (int i = 0; i < kGroup; ++i)
      to[i] = d * (float)kLevels[nibble(block + 2, first % kElements + i, 16)];
  }
};

/// 256 elements in 144 bytes: scales d and dmin (F16). In 12 bytes follow a scale s and a minimum m
/// of 6 bits for 8 parts of 32 elements. Last, numbers q of 4 bits, 64 elements in 32 bytes.
/// value = d * s * q - dmin * m.
struct Q4_K {
  static constexpr int kElements = 256, kBytes = 144;
  DEVICE void decode(const u8* row, i64 first, float (&to)[kGroup]) {
    const u8* block = row + first / kElements * kBytes;
    const i64 at = first % kElements;
    const int part = (int)(at / 32);
    const u8* pairs = block + 4;
    int s = pairs[part & 3], m = pairs[4 + (part & 3)];
    if (part < 4) {
      s &= 63;
      m &= 63;
    } else {
      const int rest = pairs[8 + (part & 3)];
      s = (rest & 15) | (s >> 6) << 4;
      m = rest >> 4 | (m >> 6) << 4;
    }
    const float scale = load_f16(block) * (float)s;
    const float minimum = load_f16(block + 2) * (float)m;
    for (int i = 0; i < kGroup; ++i)
      to[i] = scale * (float)nibble(block + 16 + at / 64 * 32, at % 64 + i, 32) - minimum;
  }
};

/// 256 elements in 210 bytes: the lower 4 bits of numbers, in 128 bytes, and the upper 2, in 64; 16
/// scales of 8 bits; a scale d (F16). Halves of 128 elements have 64 and 32 of these bytes.
/// value = d * s * (q - 32).
struct Q6_K {
  static constexpr int kElements = 256, kBytes = 210;
  DEVICE void decode(const u8* row, i64 first, float (&to)[kGroup]) {
    const u8* block = row + first / kElements * kBytes;
    const i64 at = first % kElements, half = at / 128, in_half = at % 128;
    const u8* low = block + 64 * half;
    const u8* high = block + 128 + 32 * half;
    const float scale = load_f16(block + 208) * (float)((const i8*)block)[192 + at / 16];
    for (int i = 0; i < kGroup; ++i) {
      const i64 e = in_half + i;
      const int q = nibble(low, e, 64) | (high[e % 32] >> (2 * (e / 32)) & 3) << 4;
      to[i] = scale * (float)(q - 32);
    }
  }
};

// Instances of a kernel: M(T) for each type, M(A, B) for each pair of them.
#define FOR_SINGLE_TYPES(M) M(F32) M(F16) M(BF16)
#define FOR_SINGLE_PAIRS(M) \
  M(F32, F32)               \
  M(F32, F16)               \
  M(F32, BF16)              \
  M(F16, F32)               \
  M(F16, F16)               \
  M(F16, BF16)              \
  M(BF16, F32)              \
  M(BF16, F16)              \
  M(BF16, BF16)
#define FOR_BLOCK_FORMATS(M) M(Q8_0) M(Q4_0) M(IQ4_NL) M(Q4_K) M(Q6_K)

/// Element i of a row in a block format.
template <class Format>
DEVICE float element(const u8* row, i64 i) {
  float group[kGroup];
  Format::decode(row, i / kGroup * kGroup, group);
  float value = 0;
  for (int k = 0; k < kGroup; ++k) value = i % kGroup == k ? group[k] : value;
  return value;
}

}  // namespace shunt::cuda::gpu
