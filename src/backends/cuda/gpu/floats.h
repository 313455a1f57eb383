// Square roots, powers of two and polynomials, of which gpu/math.h is made.
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

}  // namespace shunt::cuda::gpu
