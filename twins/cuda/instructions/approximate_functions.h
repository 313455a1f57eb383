// The .approx functions with the error that the PTX document grants: the function in double plus a
// part of that error, with a sign that varies with the input. The part is an eighth, or all of it
// where the settings ask for the worst (Launch::worst_approximations).
#pragma once

#include <cmath>
#include <type_traits>

#include "cuda/instructions/approximations.h"
#include "cuda/instructions/wide_sums.h"
#include "cuda/machine/block.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// How much of the granted error is added.
struct Amount {
  double part;
  bool worst;
  explicit Amount(const Warp& warp) {
    worst = warp.block->launch->worst_approximations;
    part = worst ? 0.99 : 0.125;
  }
};

// The formats of results. Rounding to them takes up to half an ulp of the granted error.
struct SingleResult {
  [[gnu::always_inline]] static double ulp(double value) { return ulp_of<23, -126>(value); }
};
struct HalfResult {
  [[gnu::always_inline]] static double ulp(double value) { return ulp_of<10, -14>(value); }
  [[gnu::always_inline]] static float wide(std::uint32_t bits) {
    return half_to_float(static_cast<std::uint16_t>(bits));
  }
  [[gnu::always_inline]] static std::uint32_t narrow(double value) {
    return float_to_half_rn(double_to_float_odd(value));
  }
};
struct BrainResult {
  [[gnu::always_inline]] static double ulp(double value) { return ulp_of<7, -126>(value); }
  [[gnu::always_inline]] static float wide(std::uint32_t bits) {
    return bf16_to_float(static_cast<std::uint16_t>(bits));
  }
  [[gnu::always_inline]] static std::uint32_t narrow(double value) {
    return float_to_bf16_rn(double_to_float_odd(value));
  }
};

[[gnu::always_inline]] inline double not_below_zero(double value) {
  return value > 0 ? value : 0;
}

/// The error that is left of `granted` after rounding, which takes half an ulp of the result; a
/// result may be one binade above the value.
template <class Format>
[[gnu::always_inline]] inline double left_of(double granted, double value) {
  return not_below_zero(granted - 0.5 * Format::ulp(std::fabs(value) + granted));
}

// The three kinds of bounds. Zeros and infinities are exact.
template <class Format>
[[gnu::always_inline]] inline double slack_in_ulps(double value, double bound) {
  const double ulp = Format::ulp(value);
  const double slack = left_of<Format>(bound * ulp, value);
  return ulp == 0 ? 0.0 : slack;
}
template <class Format>
[[gnu::always_inline]] inline double slack_relative(double value, double bound) {
  const double slack = left_of<Format>(bound * std::fabs(value), value);
  return Format::ulp(value) == 0 ? 0.0 : slack;
}
/// Near a zero of the function the usual error is relative: a sine of 1e-9 is no 1e-7.
template <class Format>
[[gnu::always_inline]] inline double slack_absolute(double value, double bound, Amount amount) {
  const double slack = left_of<Format>(bound, value);
  const double usual = 2 * bound * std::fabs(value);
  const bool whole = amount.worst | (slack < usual);
  return whole ? slack : usual;
}

/// The sign of the error, by the bits of the input: that of an f64.
[[gnu::always_inline]] inline std::uint64_t sign_of_error(std::uint32_t input) {
  const std::uint32_t hash = (input ^ (input >> 15)) * 0x9E3779B1u;
  return static_cast<std::uint64_t>(hash & kFloatSign) << 32;
}

/// value + the part of `slack`, up or down by the bits of the input.
[[gnu::always_inline]] inline double disturbed(double value, double slack, std::uint32_t input,
                                               Amount amount) {
  const std::uint64_t sign = sign_of_error(input);
  const double sum = value + double_of(bits_of(slack * amount.part) ^ sign);
  return slack == 0 ? value : sum;  // keeps the sign of a zero
}

// Each function: the inputs whose result is NaN, and the result in double for all others,
// disturbed, special values included.
template <class Format>
struct ApproximateEx2 {
  [[gnu::always_inline]] static bool undefined(float x) { return x != x; }
  [[gnu::always_inline]] static double apply(float x, Amount amount) {
    const auto in = static_cast<double>(x);
    const double low = in > -200 ? in : -200;
    const double value = power_of_two(low < 200 ? low : 200);
    double slack = 0;
    if constexpr (std::is_same_v<Format, SingleResult>)
      slack = slack_in_ulps<SingleResult>(value, 2);
    if constexpr (std::is_same_v<Format, HalfResult>)
      slack = slack_relative<HalfResult>(value, 0x1.125p-10);
    if constexpr (std::is_same_v<Format, BrainResult>)
      slack = slack_relative<BrainResult>(value, 0x1p-7);
    const double near = not_below_zero(disturbed(value, slack, bits_of(x), amount));
    const double finite = in > -160 ? near : 0.0;
    const double known = in == 0 ? 1.0 : finite;
    return known;
  }
};

template <class Format>
struct ApproximateTanh {
  [[gnu::always_inline]] static bool undefined(float x) { return x != x; }
  [[gnu::always_inline]] static double apply(float x, Amount amount) {
    const auto in = static_cast<double>(x);
    const double value = tangent_hyperbolic(in);
    double slack = 0;
    if constexpr (std::is_same_v<Format, SingleResult>)
      slack = slack_relative<SingleResult>(value, 0x1p-11);
    if constexpr (std::is_same_v<Format, HalfResult>) {
      slack = slack_absolute<HalfResult>(value, 0x1.024p-11, amount);
    }
    if constexpr (std::is_same_v<Format, BrainResult>)
      slack = slack_absolute<BrainResult>(value, 0x1p-8, amount);
    const double near = disturbed(value, slack, bits_of(x), amount);
    const double limit = amount.worst ? 2.0 : 1.0;
    const double size = std::fabs(near) < limit ? std::fabs(near) : limit;
    const double finite = std::fabs(in) < 0x1p-126 ? in : std::copysign(size, near);
    const double known = std::fabs(in) > 0x1p127 ? std::copysign(1.0, in) : finite;
    return known;
  }
};

struct ApproximateLg2 {
  [[gnu::always_inline]] static bool undefined(float x) { return !(x >= 0); }
  [[gnu::always_inline]] static double apply(float x, Amount amount) {
    const auto in = static_cast<double>(x);
    const double value = log2_of(in > 0 ? in : 1.0);
    const bool near_one = (in > 0.5) & (in < 2.0);
    const double absolute = slack_absolute<SingleResult>(value, 0x1p-22, amount);
    const double relative = slack_relative<SingleResult>(value, 0x1p-22);
    const double slack = near_one ? absolute : relative;
    const double near = disturbed(value, slack, bits_of(x), amount);
    constexpr double kInfinity = __builtin_inf();
    const double finite = in < __builtin_inf() ? near : kInfinity;
    const double known = in == 0 ? -kInfinity : finite;
    return known;
  }
};

struct ApproximateRsqrt {
  [[gnu::always_inline]] static bool undefined(float x) { return !(x >= 0); }
  [[gnu::always_inline]] static double apply(float x, Amount amount) {
    const auto in = static_cast<double>(x);
    const double value = reciprocal_root(in > 0 ? in : 1.0);
    const double slack = slack_relative<SingleResult>(value, 0x1.125p-23);
    const double near = disturbed(value, slack, bits_of(x), amount);
    const double finite = in < __builtin_inf() ? near : 0.0;
    const double pole = double_of((bits_of(in) & ~kDoubleMagnitude) | kDoubleInfinity);
    const double known = in == 0 ? pole : finite;
    return known;
  }
};

struct ApproximateSqrt {
  [[gnu::always_inline]] static bool undefined(float x) { return !(x >= 0); }
  [[gnu::always_inline]] static double apply(float x, Amount amount) {
    const auto in = static_cast<double>(x);
    const double value = in * reciprocal_root(in > 0 ? in : 1.0);
    const double slack = slack_relative<SingleResult>(value, 0x1p-23);
    const double near = disturbed(value, slack, bits_of(x), amount);
    const double finite = in < __builtin_inf() ? near : in;
    const double known = in == 0 ? in : finite;
    return known;
  }
};

struct ApproximateRcp {
  [[gnu::always_inline]] static bool undefined(float x) { return x != x; }
  [[gnu::always_inline]] static double apply(float x, Amount amount) {
    const double value = 1.0 / static_cast<double>(x);
    return disturbed(value, slack_in_ulps<SingleResult>(value, 1), bits_of(x), amount);
  }
};

/// The bound is for the document's range, |x| <= 2 pi, the smaller one of its two.
template <std::uint64_t kQuarters>
struct ApproximateWave {
  static constexpr double kFar = 0x1p20;
  [[gnu::always_inline]] static bool undefined(float x) {
    return !(std::fabs(x) < __builtin_inff());
  }
  [[gnu::always_inline]] static double apply(float x, Amount amount) {
    const auto in = static_cast<double>(x);
    const double value = sine(std::fabs(in) < kFar ? in : 0.0, kQuarters);
    return adjusted(x, value, amount);
  }
  /// Best effort: the remainder by the nearest double of 2 pi.
  static double apply_far(float x, Amount amount) {
    const double in = std::fmod(static_cast<double>(x), 0x1.921fb54442d18p+2);
    return adjusted(x, sine(in, kQuarters), amount);
  }
  [[gnu::always_inline]] static double adjusted(float x, double value, Amount amount) {
    const auto in = static_cast<double>(x);
    const double bound = std::fabs(in) <= 0x1.921fb6p+2 ? 0x1.6ap-21 : 0x1.3bp-15;
    const double near =
        disturbed(value, slack_absolute<SingleResult>(value, bound, amount), bits_of(x), amount);
    constexpr bool kCosine = kQuarters != 0;
    const double known = in == 0 ? (kCosine ? 1.0 : in) : near;
    return known;
  }
};

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
