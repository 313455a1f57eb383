// Types of single elements as kernels read and write them. block_formats.h has the others.
#pragma once

#include "backends/cuda/gpu/dialect.h"

namespace shunt::cuda::gpu {

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

}  // namespace shunt::cuda::gpu
