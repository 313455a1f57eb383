// Mathematics for kernels: NVIDIA's library of it comes with the toolkit only. A largest error is
// in units of the last place of the exact result. tests/backends/cuda/math_test finds it on the
// twin, whose bits are those of every card, as all operations are IEEE's. Minimax polynomials are
// of Remez's algorithm; "A&S" is Abramowitz and Stegun, Handbook of Mathematical Functions.
#pragma once

#include "backends/cuda/gpu/angles.h"
#include "backends/cuda/gpu/error_function.h"
#include "backends/cuda/gpu/exponential.h"
#include "backends/cuda/gpu/math_f64.h"

namespace shunt::cuda::gpu {

/// x^y = e^(y ln |x|) in double precision, with the sign and the special cases of IEEE 754. Largest
/// error: 0.51.
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

}  // namespace shunt::cuda::gpu
