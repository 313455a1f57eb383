// Multiply-adds that are rounded once, from exact products and sums rounded to odd. Such a sum
// has at least two bits more than the result, and its last bit is set if it is inexact. It rounds
// further as the exact one does.
#pragma once

#include "cuda/instructions/float_values.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// The value next to `bits` in the direction of the error, if `bits` is even: integer arithmetic,
/// which vectorizes.
template <class Bits>
[[gnu::always_inline]] inline Bits to_odd(Bits bits, bool error_above, bool error_below) {
  const Bits up = error_above ? Bits{1} : Bits{0};
  const Bits down = error_below ? Bits{1} : Bits{0};
  const Bits negative = Bits{0} - (bits >> (sizeof(Bits) * 8 - 1));  // all ones
  const Bits step = ((up - down) ^ negative) - negative;             // of the magnitude
  const Bits even = (bits & 1) - Bits{1};                            // all ones
  return bits + (step & even);
}

/// product + c, rounded to odd. `product` is exact.
template <class T>
[[gnu::always_inline]] inline T sum_to_odd(T product, T c) {
  const T sum = product + c;
  const T part = sum - product;
  const T error = (product - (sum - part)) + (c - part);  // exact; NaN if the sum is infinite
  return std::bit_cast<T>(to_odd(bits_of(sum), error > 0, error < 0));
}

/// Of f16 values: 22 bits of product and any sum of them with c are within float's range.
[[gnu::always_inline]] inline std::uint16_t half_fma(float a, float b, float c) {
  return float_to_half_rn(sum_to_odd(a * b, c));
}

[[gnu::always_inline]] inline float double_to_float_odd(double value) {
  const auto near = static_cast<float>(value);
  const auto back = static_cast<double>(near);
  return float_of(to_odd(bits_of(near), value > back, value < back));
}

[[gnu::always_inline]] inline std::uint16_t bf16_fma(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  return float_to_bf16_rn(double_to_float_odd(sum_to_odd(product, static_cast<double>(c))));
}

[[gnu::always_inline]] inline float fma_nearest(float a, float b, float c) {
#ifdef __FP_FAST_FMAF
  return __builtin_fmaf(a, b, c);
#else
  const double product = static_cast<double>(a) * static_cast<double>(b);
  return static_cast<float>(sum_to_odd(product, static_cast<double>(c)));
#endif
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
