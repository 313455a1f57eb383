// exp, log and their like (gpu/math.h).
#pragma once

#include "backends/cuda/gpu/floats.h"

namespace shunt::cuda::gpu {

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

/// A minimax polynomial up to 0.55, then 1 - 2 / (e^2x + 1) (A&S 4.5.3). Largest error: 1.5.
DEVICE float tanh(float x) {
  constexpr float kMinimax[] = {-0.00627424311f, 0.0210716824f, -0.053852311f, 0.133325862f,
                                -0.333333176f};
  const float size = __builtin_fabsf(x), squared = x * x;
  const float near_0 = __builtin_fmaf(size * squared, polynomial(squared, kMinimax), size);
  return __builtin_copysignf(size < 0.55f ? near_0 : 1 - 2 / (exp(2 * size) + 1), x);
}

}  // namespace shunt::cuda::gpu
