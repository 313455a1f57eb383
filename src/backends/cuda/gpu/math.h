// Mathematics for kernels: NVIDIA's library of it comes with the toolkit only.
#pragma once

#include "backends/cuda/gpu/dialect.h"

namespace shunt::cuda::gpu {

/// 2^n for n from -126 to 127.
DEVICE float power_of_two(int n) {
  return __builtin_bit_cast(float, (u32)(n + 127) << 23);
}

/// e^x. x = n ln 2 + r with |r| <= ln 2 / 2, and a Taylor polynomial of degree 7 for e^r, whose
/// remainder is 1e-9 there.
DEVICE float exp(float x) {
  if (x != x) return x;
  if (x > 88.8f) return __builtin_inff();
  if (x < -104.0f) return 0;
  const float n = __builtin_rintf(x * 1.44269504f);
  float r = __builtin_fmaf(n, -0.693145752f, x);  // ln 2 in two parts; n times the first is exact
  r = __builtin_fmaf(n, -1.42860677e-6f, r);
  float p = 1.98412698e-4f;
  p = __builtin_fmaf(p, r, 1.38888889e-3f);
  p = __builtin_fmaf(p, r, 8.33333333e-3f);
  p = __builtin_fmaf(p, r, 4.16666667e-2f);
  p = __builtin_fmaf(p, r, 1.66666667e-1f);
  p = __builtin_fmaf(p, r, 0.5f);
  p = __builtin_fmaf(p, r, 1.0f);
  p = __builtin_fmaf(p, r, 1.0f);
  const int half = (int)n / 2;  // in two steps, as 2^n may be subnormal or too large
  return p * power_of_two(half) * power_of_two((int)n - half);
}

DEVICE float tanh(float x) {
  const float squared = x * x;
  if (squared < 0.01f) {
    float p = -17.0f / 315;
    p = __builtin_fmaf(p, squared, 2.0f / 15);
    p = __builtin_fmaf(p, squared, -1.0f / 3);
    return __builtin_fmaf(p * squared, x, x);
  }
  return 1 - 2 / (exp(2 * x) + 1);
}

struct SinCos {
  double sin, cos;
};

/// Of an angle up to 2^31: reduced by pi / 2 in three parts, then Taylor polynomials up to degree
/// 17 and 16, whose remainders are below 1e-16 on [-pi / 4, pi / 4].
DEVICE SinCos sin_cos(double x) {
  const double n = __builtin_rint(x * 0.63661977236758134308);
  double r = __builtin_fma(n, -1.57079632679489655800e+00, x);
  r = __builtin_fma(n, -6.12323399573676603587e-17, r);
  r = __builtin_fma(n, 1.49738490485916983400e-33, r);
  const double s = r * r;
  double p = 1.0 / 355687428096000;
  p = __builtin_fma(p, s, -1.0 / 1307674368000);
  p = __builtin_fma(p, s, 1.0 / 6227020800);
  p = __builtin_fma(p, s, -1.0 / 39916800);
  p = __builtin_fma(p, s, 1.0 / 362880);
  p = __builtin_fma(p, s, -1.0 / 5040);
  p = __builtin_fma(p, s, 1.0 / 120);
  p = __builtin_fma(p, s, -1.0 / 6);
  const double sin = __builtin_fma(p * s, r, r);
  p = 1.0 / 20922789888000;
  p = __builtin_fma(p, s, -1.0 / 87178291200);
  p = __builtin_fma(p, s, 1.0 / 479001600);
  p = __builtin_fma(p, s, -1.0 / 3628800);
  p = __builtin_fma(p, s, 1.0 / 40320);
  p = __builtin_fma(p, s, -1.0 / 720);
  p = __builtin_fma(p, s, 1.0 / 24);
  p = __builtin_fma(p, s, -0.5);
  const double cos = __builtin_fma(p, s, 1.0);
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
