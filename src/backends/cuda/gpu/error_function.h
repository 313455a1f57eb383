// erf and erfc (gpu/math.h).
#pragma once

#include "backends/cuda/gpu/exponential.h"

namespace shunt::cuda::gpu {

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

}  // namespace shunt::cuda::gpu
