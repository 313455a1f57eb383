// exp and log in double precision (gpu/math.h).
#pragma once

#include "backends/cuda/gpu/floats.h"

namespace shunt::cuda::gpu {

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

}  // namespace shunt::cuda::gpu
