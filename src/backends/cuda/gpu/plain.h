// Elements of the types of one element, by the number of the type.
#pragma once

#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/plain_types.h"

namespace shunt::cuda::gpu {

DEVICE i64 load_integer(u64 type, const u8* at) {
  switch (type) {
    case kPlainI8:
      return *(const i8*)at;
    case kPlainI16:
      return *(const i16*)at;
    case kPlainI32:
      return *(const i32*)at;
    default:
      return *(const i64*)at;
  }
}

/// Saturated.
DEVICE void store_integer(u64 type, u8* at, i64 value) {
  if (type == kPlainI64) {
    *(i64*)at = value;
    return;
  }
  const int bits = type == kPlainI8 ? 8 : type == kPlainI16 ? 16 : 32;
  const i64 end = (i64)1 << (bits - 1);
  if (value < -end) value = -end;
  if (value >= end) value = end - 1;
  if (type == kPlainI8) *(i8*)at = (i8)value;
  if (type == kPlainI16) *(i16*)at = (i16)value;
  if (type == kPlainI32) *(i32*)at = (i32)value;
}

/// The nearest integer, even if between two; saturated; 0 for NaN.
DEVICE i64 integer_of(double value) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  const double rounded = __builtin_rint(value);
  if (rounded != rounded) return 0;
  if (rounded < -kEnd) return -0x7FFFFFFFFFFFFFFFLL - 1;
  if (rounded >= kEnd) return 0x7FFFFFFFFFFFFFFFLL;
  return (i64)rounded;
}

DEVICE float load_plain(u64 type, const u8* at) {
  switch (type) {
    case kPlainF32:
      return *(const float*)at;
    case kPlainF16:
      return load_f16(at);
    case kPlainBF16:
      return float_of_bf16(*(const u16*)at);
    case kPlainF64:
      return (float)*(const double*)at;
    default:
      return (float)load_integer(type, at);
  }
}

DEVICE void store_plain(u64 type, u8* at, float value) {
  switch (type) {
    case kPlainF32:
      *(float*)at = value;
      break;
    case kPlainF16:
      *(u16*)at = f16_of_float(value);
      break;
    case kPlainBF16:
      *(u16*)at = bf16_of_float(value);
      break;
    case kPlainF64:
      *(double*)at = value;
      break;
    default:
      store_integer(type, at, integer_of(value));
  }
}

/// An element in another type.
DEVICE void convert_plain(u64 from_type, const u8* from, u64 to_type, u8* to) {
  if (from_type < kPlainF64 || to_type < kPlainF64) {
    store_plain(to_type, to, load_plain(from_type, from));
  } else if (from_type != kPlainF64) {
    const i64 value = load_integer(from_type, from);
    if (to_type == kPlainF64) {
      *(double*)to = (double)value;
    } else {
      store_integer(to_type, to, value);
    }
  } else {
    store_integer(to_type, to, integer_of(*(const double*)from));
  }
}

}  // namespace shunt::cuda::gpu
