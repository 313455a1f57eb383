// Activation functions of one element.
#pragma once

#include "backends/cuda/gpu/math.h"

namespace shunt::cuda::gpu {

/// x / (1 + e^-(high + low)), where low is as in scaled_exp(). Subnormal results have no larger
/// error.
DEVICE float times_sigmoid(float x, float high, float low = 0) {
  if (!(high < 0)) return x / (1 + exp(-high, -low));
  const Scaled e = scaled_exp(high, low);
  return scale_by_power(x * e.value, e.power) / (1 + scale_by_power(e.value, e.power));
}
/// Largest error: 2.5.
DEVICE float sigmoid(float x) {
  return times_sigmoid(1, x);
}
/// Largest error: 3.4.
DEVICE float silu(float x) {
  return times_sigmoid(x, x);
}
/// x times the sigmoid of 1.702 x. Largest error: 3.4.
DEVICE float gelu_quick(float x) {
  const float high = 1.702f * x;
  return times_sigmoid(x, high, __builtin_fmaf(1.702f, x, -high) - 2.19345093e-8f * x);
}
/// x (1 + tanh u) / 2 = x times the sigmoid of 2u = x (c + d x^2), in high parts and their rounding
/// errors: those of a large 2u would be errors of the result. Largest error: 3.5.
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
/// x (1 + erf(x / sqrt 2)) / 2. Largest error: 4.7.
DEVICE float gelu_erf(float x) {
  const float angle = 0.707106781f * x;
  if (!(x < -0.75f)) return 0.5f * x * (1 + erf(angle));
  const float squared = x * x;
  const Scaled y = scaled_erfc(-angle, -0.5f * squared, -0.5f * __builtin_fmaf(x, x, -squared));
  return scale_by_power(0.5f * x * y.value, y.power);
}

}  // namespace shunt::cuda::gpu
