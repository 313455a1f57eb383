// The approximate functions in double, without branches, with a relative error below 2^-34. The
// error that the PTX document grants is added on purpose (approximate.cpp): a program must not
// rely on more.
#pragma once

#include <cmath>

#include "cuda/instructions/float_values.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

inline constexpr double kToInteger = 0x1.8p52;  // adding it rounds to an integer in the low bits

/// Horner's rule, the highest power first.
template <unsigned kCount>
[[gnu::always_inline]] inline double polynomial(double x, const double (&coefficients)[kCount]) {
  double sum = coefficients[0];
#pragma GCC unroll 16
  for (unsigned i = 1; i < kCount; ++i) sum = sum * x + coefficients[i];
  return sum;
}

/// 2^x for -1000 < x < 1000.
[[gnu::always_inline]] inline double power_of_two(double x) {
  // ln(2)^n / n!
  constexpr double kSeries[] = {0x1.b5253d395e7c1p-24, 0x1.62c0223a5c822p-20,
                                0x1.ffcbfc588b0c5p-17, 0x1.430912f86c786p-13,
                                0x1.5d87fe78a6730p-10, 0x1.3b2ab6fba4e77p-7,
                                0x1.c6b08d704a0bfp-5,  0x1.ebfbdff82c58ep-3,
                                0x1.62e42fefa39efp-1,  1.0};
  const double shifted = x + kToInteger;
  const double rest = x - (shifted - kToInteger);
  return double_of(bits_of(polynomial(rest, kSeries)) + (bits_of(shifted) << 52));
}

/// log2(x) for a normal x above 0.
[[gnu::always_inline]] inline double log2_of(double x) {
  constexpr std::uint64_t kRootHalf = 0x3FE6A09E667F3BCDu;
  constexpr std::uint64_t kBias = std::uint64_t{1024} << 52;
  const std::uint64_t exponent = (bits_of(x) - kRootHalf + kBias) >> 52;  // + 1024
  const double m = double_of(bits_of(x) - (exponent << 52) + kBias);
  const double whole = double_of(0x4330000000000000u | exponent) - (0x1p52 + 1024);
  const double s = (m - 1) / (m + 1);
  // 2 / ln(2) / n
  constexpr double kSeries[] = {0x1.c68f568d31760p-3, 0x1.0c9a84994022dp-2, 0x1.484b13d7c02a9p-2,
                                0x1.a61762a7aded9p-2, 0x1.2776c50ef9bfep-1, 0x1.ec709dc3a03fdp-1,
                                0x1.71547652b82fep+1};
  return whole + s * polynomial(s * s, kSeries);
}

/// 1 / sqrt(x) for a normal x above 0: Newton's steps from a guess by the bits.
[[gnu::always_inline]] inline double reciprocal_root(double x) {
  double y = double_of(0x5FE6EB50C7B537A9u - (bits_of(x) >> 1));
  const double half = 0.5 * x;
#pragma GCC unroll 3
  for (int step = 0; step < 3; ++step) y = y * (1.5 - half * y * y);
  return y;
}

/// sin(x + quarters * pi / 2) for |x| < 2^20.
[[gnu::always_inline]] inline double sine(double x, std::uint64_t quarters) {
  constexpr double kHigh = 0x1.921fb54400000p+0;  // of pi / 2: its multiples are exact
  constexpr double kLow = 0x1.0b4611a626331p-34;
  constexpr double kSines[] = {0x1.6124613a86d09p-33,
                               -0x1.ae64567f544e4p-26,
                               0x1.71de3a556c734p-19,
                               -0x1.a01a01a01a01ap-13,
                               0x1.1111111111111p-7,
                               -0x1.5555555555555p-3,
                               1.0};
  constexpr double kCosines[] = {0x1.1eed8eff8d898p-29,
                                 -0x1.27e4fb7789f5cp-22,
                                 0x1.a01a01a01a01ap-16,
                                 -0x1.6c16c16c16c17p-10,
                                 0x1.5555555555555p-5,
                                 -0.5,
                                 1.0};
  const double shifted = x * 0x1.45f306dc9c883p-1 + kToInteger;  // x * 2 / pi
  const double n = shifted - kToInteger;
  const double r = (x - n * kHigh) - n * kLow;
  const std::uint64_t quarter = bits_of(shifted) + quarters;
  const double odd = r * polynomial(r * r, kSines);
  const double even = polynomial(r * r, kCosines);
  const double size = (quarter & 1) != 0 ? even : odd;
  return double_of(bits_of(size) ^ ((quarter & 2) << 62));
}

[[gnu::always_inline]] inline double tangent_hyperbolic(double x) {
  const double size = std::fabs(x) < 20 ? std::fabs(x) : 20;
  const double power = power_of_two(size * 0x1.71547652b82fep+1);  // e^(2 size)
  const double large = (power - 1) / (power + 1);
  const double small = size - size * size * size * 0x1.5555555555555p-2;
  return std::copysign(size < 0x1p-6 ? small : large, x);
}

/// The distance of neighbours of a result of `kFraction` bits, down to the smallest subnormal; 0
/// for a result that is 0, infinite or NaN.
template <unsigned kFraction, int kLeastExponent>
[[gnu::always_inline]] inline double ulp_of(double value) {
  constexpr auto kLeast = static_cast<std::uint64_t>(kLeastExponent + 1023) << 52;
  const std::uint64_t field = bits_of(value) & kDoubleInfinity;
  const std::uint64_t power =
      static_cast<std::int64_t>(field) > static_cast<std::int64_t>(kLeast) ? field : kLeast;
  constexpr double kUnit = 1.0 / (1u << kFraction);
  const double ulp = double_of(power) * kUnit;
  return field == kDoubleInfinity || value == 0 ? 0.0 : ulp;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
