// Sines and cosines (gpu/math.h).
#pragma once

#include "backends/cuda/gpu/floats.h"

namespace shunt::cuda::gpu {

/// An angle modulo 2 pi: quarter * pi / 2 + high + low, at most about pi / 4 beyond the quarter.
struct Angle {
  float high, low;
  u32 quarter;
};
/// |x| below 2^15, by pi / 2 in three parts (Cody and Waite). The first step is exact, the error of
/// the second is kept.
DEVICE Angle reduce_small_angle(float x) {
  const float n = __builtin_rintf(x * 0.636619772f);
  const float r = __builtin_fmaf(n, -1.57079637f, x);
  const float second = n * -4.37113883e-8f;
  const float second_low = __builtin_fmaf(n, -4.37113883e-8f, -second);
  const float high = r - second, seen = r - high;
  const float error = (r - (high + seen)) + (seen - second);
  return {high, __builtin_fmaf(n, 1.71512451e-15f, error - second_low), (u32)(int)n};
}
/// |x| from 2^-7 on: |x| * 2 / pi in integers (Payne and Hanek). Those bits of 2 / pi are taken
/// that give less than 4 quarters: 96 of them.
DEVICE Angle reduce_large_angle(float x) {
  constexpr u32 kTwoOverPi[] = {0,          0xA2F9836E, 0x4E441529, 0xFC2757D1,
                                0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB};
  const u32 bits = __builtin_bit_cast(u32, x);
  const u32 factor = (bits & 0x7FFFFF) | 0x800000;
  const u32 first = (bits >> 23 & 0xFF) - 150 + 30;  // the first bit, after 32 zeros
  u64 product = 0;                                   // of the factor and the bits, modulo 2^96
  u32 words[3];
  for (int i = 2; i >= 0; --i) {
    const u32* at = kTwoOverPi + first / 32 + i;
    const u32 word = (u32)(((u64)at[0] << 32 | at[1]) << first % 32 >> 32);
    product = (u64)factor * word + (product >> 32);
    words[i] = (u32)product;
  }
  const i64 fraction = (i64)(((u64)words[0] << 32 | words[1]) << 2 | words[2] >> 30);
  const u32 quarter = (words[0] >> 30) + (fraction < 0 ? 1 : 0);  // the nearest one
  const i64 part = fraction >> 1;                                 // in units of 2^-63
  const float high = (float)part, low = (float)(part - (i64)high);
  const float angle = high * 1.57079637f;
  float rest = __builtin_fmaf(high, 1.57079637f, -angle);
  rest = __builtin_fmaf(low, 1.57079637f, __builtin_fmaf(high, -4.37113883e-8f, rest));
  const float unit = x < 0 ? -0x1p-63f : 0x1p-63f;
  return {angle * unit, rest * unit, x < 0 ? -quarter : quarter};
}
DEVICE Angle reduce_angle(float x) {
  return __builtin_fabsf(x) < 32768 ? reduce_small_angle(x) : reduce_large_angle(x);
}
/// Taylor's polynomials of degree 9 and 10 for |angle| <= pi / 4; the remainders are 2e-9.
DEVICE float sin_of(const Angle& angle) {
  constexpr float kTaylor[] = {1.0f / 362880, -1.0f / 5040, 1.0f / 120, -1.0f / 6};
  const float r = angle.high, squared = r * r;
  const float low = __builtin_fmaf(-0.5f * squared, angle.low, angle.low);
  return r + __builtin_fmaf(r * squared, polynomial(squared, kTaylor), low);
}
DEVICE float cos_of(const Angle& angle) {
  constexpr float kTaylor[] = {-1.0f / 3628800, 1.0f / 40320, -1.0f / 720, 1.0f / 24};
  const float r = angle.high, squared = r * r, half = 0.5f * squared, whole = 1 - half;
  const float rest =
      __builtin_fmaf(squared * squared, polynomial(squared, kTaylor), -r * angle.low);
  return whole + (((1 - whole) - half) + rest);
}
/// The sine `quarter` quarters further.
DEVICE float turned_sin(const Angle& angle, u32 quarter) {
  const float value = quarter & 1 ? cos_of(angle) : sin_of(angle);
  return quarter & 2 ? -value : value;
}

/// Largest error: 0.9.
DEVICE float sin(float x) {
  if (!(__builtin_fabsf(x) < __builtin_inff())) return x - x;
  if (x == 0) return x;
  const Angle angle = reduce_angle(x);
  return turned_sin(angle, angle.quarter);
}
/// Largest error: 0.9.
DEVICE float cos(float x) {
  if (!(__builtin_fabsf(x) < __builtin_inff())) return x - x;
  const Angle angle = reduce_angle(x);
  return turned_sin(angle, angle.quarter + 1);
}

struct SinCos {
  double sin, cos;
};

/// Of an angle up to 2^31: reduced by pi / 2 in three parts, then Taylor polynomials up to degree
/// 17 and 16, whose remainders are below 1e-16 on [-pi / 4, pi / 4].
DEVICE SinCos sin_cos(double x) {
  constexpr double kSin[] = {
      1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
      1.0 / 362880,          -1.0 / 5040,          1.0 / 120,        -1.0 / 6};
  constexpr double kCos[] = {
      1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800,
      1.0 / 40320,          -1.0 / 720,         1.0 / 24,        -0.5};
  const double n = __builtin_rint(x * 0.63661977236758134308);
  double r = __builtin_fma(n, -1.57079632679489655800e+00, x);
  r = __builtin_fma(n, -6.12323399573676603587e-17, r);
  r = __builtin_fma(n, 1.49738490485916983400e-33, r);
  const double s = r * r;
  const double sin = __builtin_fma(polynomial(s, kSin) * s, r, r);
  const double cos = __builtin_fma(polynomial(s, kCos), s, 1.0);
  switch ((i64)n & 3) {
    case 0:
      return {sin, cos};
    case 1:
      return {cos, -sin};
    case 2:
      return {-sin, -cos};
    default:
      return {-cos, sin};
  }
}

}  // namespace shunt::cuda::gpu
