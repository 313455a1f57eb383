// Mathematics for kernels: NVIDIA's library of it comes with the toolkit only. The largest errors
// are in units of the last place of the exact result. math_test finds them on the twin, whose bits
// are those of every card: all operations here are IEEE's. Minimax polynomials are of Remez's
// algorithm. "A&S" is Abramowitz and Stegun, Handbook of Mathematical Functions.
#pragma once

#include "backends/cuda/gpu/dialect.h"

namespace shunt::cuda::gpu {

/// Correctly rounded.
DEVICE float sqrt(float x) {
  return __builtin_sqrtf(x);
}
DEVICE double sqrt(double x) {
  return __builtin_sqrt(x);
}

/// 2^n for n from -126 to 127.
DEVICE float power_of_two(int n) {
  return __builtin_bit_cast(float, (u32)(n + 127) << 23);
}
/// value * 2^n for n from -252 to 254. In two steps, as 2^n may be subnormal or too large.
DEVICE float scale_by_power(float value, int n) {
  const int half = n / 2;
  return value * power_of_two(half) * power_of_two(n - half);
}

/// A polynomial of some coefficients, the highest power first (Horner).
template <int N>
DEVICE float polynomial(float x, const float (&coefficients)[N]) {
  float p = coefficients[0];
  for (int i = 1; i < N; ++i) p = __builtin_fmaf(p, x, coefficients[i]);
  return p;
}
template <int N>
DEVICE double polynomial(double x, const double (&coefficients)[N]) {
  double p = coefficients[0];
  for (int i = 1; i < N; ++i) p = __builtin_fma(p, x, coefficients[i]);
  return p;
}

/// value * 2^power.
struct Scaled {
  float value;
  int power;
};
/// x = power * ln 2 + value with |value| <= ln 2 / 2, for |x| <= 110.
DEVICE Scaled reduce_by_ln2(float x) {
  const float n = __builtin_rintf(x * 1.44269504f);
  const float r = __builtin_fmaf(n, -0.693145752f, x);  // exact: the constant has 16 bits
  return {__builtin_fmaf(n, -1.42860677e-6f, r), (int)n};
}
/// e^r - 1 for |r| <= ln 2 / 2: Taylor's polynomial of degree 7, whose remainder is 6e-9 there.
DEVICE float expm1_near_0(float r) {
  constexpr float kTaylor[] = {1.98412698e-4f, 1.38888889e-3f, 8.33333333e-3f,
                               4.16666667e-2f, 1.66666667e-1f, 0.5f};
  return __builtin_fmaf(r * r, polynomial(r, kTaylor), r);
}

/// e^(high + low), where low is at most a few units of the last place of high. The result of
/// scale_by_power() is 0 below -104, and infinite above 89.
DEVICE Scaled scaled_exp(float high, float low = 0) {
  const float bounded = high < -110 ? -110 : high > 110 ? 110 : high;  // not-a-number stays
  const Scaled r = reduce_by_ln2(bounded);
  return {high < -110 ? 0 : 1 + expm1_near_0(r.value + low), r.power};
}
DEVICE float exp(float high, float low) {
  const Scaled e = scaled_exp(high, low);
  return scale_by_power(e.value, e.power);
}

/// e^x. Largest error: 1.1.
DEVICE float exp(float x) {
  return exp(x, 0);
}

/// e^x - 1 = 2^n (e^r - 1) + 2^n - 1. Largest error: 1.7.
DEVICE float expm1(float x) {
  if (x > 89) return __builtin_inff();
  if (x < -18) return -1;
  const Scaled r = reduce_by_ln2(x);
  if (x == 0) return x;  // -0 stays
  const float p = expm1_near_0(r.value);
  if (r.power == 0) return p;
  const float half = power_of_two(r.power - 1);  // of 2^n, which may be too large
  const float y = __builtin_fmaf(p, half, half - 0.5f);
  return y + y;
}

/// x = (1 + value) * 2^power with 1 + value from sqrt(1/2) to sqrt(2), for x above 0.
DEVICE Scaled split_near_1(float x) {
  const u32 bits = __builtin_bit_cast(u32, x), root_of_half = 0x3F3504F3;
  const int power = (int)(bits - root_of_half) >> 23;
  return {__builtin_bit_cast(float, bits - ((u32)power << 23)) - 1, power};
}
/// power * ln 2 + ln(1 + value) + low. With s = f / (2 + f), ln(1 + f) = 2 artanh(s) = 2s + s R,
/// where R = 2/3 s^2 + 2/5 s^4 + ... (A&S 4.1.27), and 2s = f - f^2 / 2 + s f^2 / 2.
DEVICE float log_of(const Scaled& x, float low) {
  constexpr float kSeries[] = {2.0f / 11, 2.0f / 9, 2.0f / 7, 2.0f / 5, 2.0f / 3};
  const float f = x.value, n = (float)x.power;
  const float s = f / (2 + f), squared = s * s, half = 0.5f * f * f;
  const float tail = s * (half + squared * polynomial(squared, kSeries));
  low = __builtin_fmaf(n, 1.42860677e-6f, low);
  return __builtin_fmaf(n, 0.693145752f, f - (half - (tail + low)));
}

/// ln x. Largest error: 0.9.
DEVICE float log(float x) {
  if (x == 0) return -__builtin_inff();
  if (!(x > 0)) return __builtin_nanf("");
  if (x == __builtin_inff()) return x;
  const bool subnormal = x < 0x1p-126f;
  Scaled parts = split_near_1(subnormal ? x * 0x1p24f : x);
  if (subnormal) parts.power -= 24;
  return log_of(parts, 0);
}

/// ln(1 + x), with the rounding error of the sum taken into account. Largest error: 0.9.
DEVICE float log1p(float x) {
  if (x == -1) return -__builtin_inff();
  if (!(x > -1)) return __builtin_nanf("");
  if (x == __builtin_inff() || x == 0) return x;
  if (x > -0.29f && x < 0.41f) return log_of({x, 0}, 0);
  const float sum = 1 + x;
  const float lost = x > 1 ? 1 - (sum - x) : x - (sum - 1);
  return log_of(split_near_1(sum), lost / sum);
}

/// ln(1 + e^x), also where e^x is infinite.
DEVICE float softplus(float x) {
  return (x < 0 ? 0 : x) + log1p(exp(-__builtin_fabsf(x)));
}

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

/// A minimax polynomial up to 0.55, then 1 - 2 / (e^2x + 1) (A&S 4.5.3). Largest error: 1.5.
DEVICE float tanh(float x) {
  constexpr float kMinimax[] = {-0.00627424311f, 0.0210716824f, -0.053852311f, 0.133325862f,
                                -0.333333176f};
  const float size = __builtin_fabsf(x);
  if (size < 0.55f) {
    const float squared = x * x;
    return __builtin_fmaf(x * squared, polynomial(squared, kMinimax), x);
  }
  return __builtin_copysignf(1 - 2 / (exp(2 * size) + 1), x);
}

/// erf(x) for |x| < 0.85: a minimax polynomial for erf(x) / x - 1.
DEVICE float erf_near_0(float x) {
  constexpr float kMinimax[] = {8.83626238e-5f, -0.00082442927f, 0.00520929898f, -0.0268624821f,
                                0.112837471f,   -0.376126369f,   0.128379167f};
  return __builtin_fmaf(x, polynomial(x * x, kMinimax), x);
}
/// erfc(x) for x from 0.5 on, where -x^2 = high + low. It is e^(-x^2) / (1 + 2x) times a minimax
/// polynomial in (x - 2) / (x + 2): a form of Schonfelder, "Chebyshev expansions for the error and
/// related functions" (1978).
DEVICE Scaled scaled_erfc(float x, float high, float low) {
  constexpr float kMinimax[] = {0.000231306788f, -0.000320747552f, -0.00148246955f, 0.00122320088f,
                                0.00873100058f,  -0.00802612665f,  -0.0542210643f,  0.16405074f,
                                -0.166030352f,   -0.0927638161f,   1.27697838f};
  const float factor = polynomial((x - 2) / (x + 2), kMinimax) / __builtin_fmaf(2, x, 1);
  const Scaled e = scaled_exp(high, low);
  return {e.value * factor, e.power};
}
DEVICE float erfc_beyond_half(float x) {
  const float squared = x * x;
  const Scaled y = scaled_erfc(x, -squared, -__builtin_fmaf(x, x, -squared));
  return scale_by_power(y.value, y.power);
}

/// Largest error: 1.2.
DEVICE float erf(float x) {
  const float size = __builtin_fabsf(x);
  if (size < 0.85f) return erf_near_0(x);
  if (size > 4) return __builtin_copysignf(1, x);
  return __builtin_copysignf(1 - erfc_beyond_half(size), x);
}
/// 1 - erf(x). Largest error: 3.9.
DEVICE float erfc(float x) {
  if (x < 0.5f) return x > -0.85f ? 1 - erf_near_0(x) : 2 - erfc_beyond_half(x < -11 ? 11 : -x);
  return x > 11 ? 0 : erfc_beyond_half(x);
}

/// 2^n for n from -1022 to 1023.
DEVICE double power_of_two_f64(int n) {
  return __builtin_bit_cast(double, (u64)(n + 1023) << 52);
}
/// e^r - 1 for |r| <= ln 2 / 2: Taylor's polynomial of degree 13, whose remainder is 4e-18 there.
DEVICE double expm1_near_0(double r) {
  constexpr double kTaylor[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                                1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                                1.0 / 120,        1.0 / 24,        1.0 / 6,        0.5};
  return __builtin_fma(r * r, polynomial(r, kTaylor), r);
}
/// e^x, for x that are no less than -700; beyond 700 it is infinite.
DEVICE double exp(double x) {
  if (x > 700) return __builtin_inf();
  if (x < -700) return 0;
  const double n = __builtin_rint(x * 1.4426950408889634);
  double r = __builtin_fma(n, -6.93147180369123816490e-01, x);  // exact: the constant has 33 bits
  r = __builtin_fma(n, -1.90821492927058770002e-10, r);
  return (1 + expm1_near_0(r)) * power_of_two_f64((int)n);
}
/// e^x - 1.
DEVICE double expm1(double x) {
  return __builtin_fabs(x) < 0.34 ? expm1_near_0(x) : exp(x) - 1;
}
/// ln x, for normal numbers above 0.
DEVICE double log(double x) {
  constexpr double kSeries[] = {2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11,
                                2.0 / 9,  2.0 / 7,  2.0 / 5,  2.0 / 3};
  const u64 bits = __builtin_bit_cast(u64, x), root_of_half = 0x3FE6A09E667F3BCD;
  const int n = (int)((i64)(bits - root_of_half) >> 52);
  const double f = __builtin_bit_cast(double, bits - ((u64)(i64)n << 52)) - 1;
  const double s = f / (2 + f), squared = s * s;
  return n * 0.69314718055994531 + (s * squared * polynomial(squared, kSeries) + 2 * s);
}

/// x^y = e^(y ln |x|) in double precision, with the sign and the special cases of IEEE 754. Largest
/// error: 0.6.
DEVICE float pow(float x, float y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return x + y;
  const float size = __builtin_fabsf(x);
  const bool integer = __builtin_truncf(y) == y;
  const bool odd = integer && __builtin_truncf(0.5f * y) != 0.5f * y;
  const bool negative = __builtin_copysignf(1, x) < 0;
  const float sign = negative && odd ? -1 : 1;
  if (size == 0) return y < 0 ? sign * __builtin_inff() : sign * 0;
  if (size == __builtin_inff()) return y < 0 ? sign * 0 : sign * size;
  if (negative && !integer && __builtin_fabsf(y) < __builtin_inff()) return __builtin_nanf("");
  if (size == 1) return sign;
  return sign * (float)exp(y * log((double)size));
}

/// x / (1 + e^-(high + low)), where low is as in scaled_exp(). Subnormal results have no larger
/// error.
DEVICE float times_sigmoid(float x, float high, float low = 0) {
  if (!(high < 0)) return x / (1 + exp(-high, -low));
  const Scaled e = scaled_exp(high, low);
  return scale_by_power(x * e.value, e.power) / (1 + scale_by_power(e.value, e.power));
}
/// Largest error: 2.4.
DEVICE float sigmoid(float x) {
  return times_sigmoid(1, x);
}
/// Largest error: 3.
DEVICE float silu(float x) {
  return times_sigmoid(x, x);
}
/// x times the sigmoid of 1.702 x. Largest error: 3.4.
DEVICE float gelu_quick(float x) {
  const float high = 1.702f * x;
  return times_sigmoid(x, high, __builtin_fmaf(1.702f, x, -high) - 2.19345093e-8f * x);
}
/// x (1 + tanh u) / 2 = x times the sigmoid of 2u = x (c + d x^2), in high parts and their rounding
/// errors: those of a large 2u would be errors of the result. Largest error: 3.
DEVICE float gelu(float x) {
  if (__builtin_fabsf(x) > 1e4f) return x < 0 ? x * 0 : x;
  const float squared = x * x, squared_low = __builtin_fmaf(x, x, -squared);
  const float cube = 0.0713548139f * squared;
  float cube_low = __builtin_fmaf(0.0713548139f, squared, -cube);
  cube_low += 0.0713548139f * squared_low + 2.39883247e-9f * squared;
  const float larger = 1.59576917f > cube ? 1.59576917f : cube;
  const float smaller = 1.59576917f > cube ? cube : 1.59576917f;
  const float slope = larger + smaller;
  const float slope_low = smaller - (slope - larger) + (cube_low - 4.53406805e-8f);
  const float high = x * slope;
  return times_sigmoid(x, high, __builtin_fmaf(x, slope, -high) + x * slope_low);
}
/// x (1 + erf(x / sqrt 2)) / 2. Largest error: 4.2.
DEVICE float gelu_erf(float x) {
  const float angle = 0.707106781f * x;
  if (!(x < -0.75f)) return 0.5f * x * (1 + erf(angle));
  const float squared = x * x;
  const Scaled y = scaled_erfc(-angle, -0.5f * squared, -0.5f * __builtin_fmaf(x, x, -squared));
  return scale_by_power(0.5f * x * y.value, y.power);
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
