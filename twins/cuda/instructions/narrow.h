// Float formats as conversions see them: bits of a register to a native value and back, in any
// rounding.
#pragma once

#include <cmath>

#include "cuda/instructions/wide_sums.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// Is the magnitude rounded up, where truncation lost something?
inline bool goes_away(Rounding rounding, bool negative) {
  return rounding == (negative ? Rounding::kDown : Rounding::kUp);
}

inline std::uint32_t float_to_half(float value, Rounding rounding) {
  if (rounding == Rounding::kNearest || value != value) return float_to_half_rn(value);
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t magnitude = bits & kFloatMagnitude;
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  if (magnitude == kFloatInfinity) return sign | 0x7C00u;
  constexpr std::uint32_t kRebias = 112u << 23;
  std::uint32_t kept = 0x7BFFu;
  if (magnitude < 113u << 23) {
    kept = static_cast<std::uint32_t>(float_of(magnitude) * 0x1p24f);
  } else if (magnitude < 143u << 23) {
    kept = (magnitude - kRebias) >> 13;
  }
  const bool inexact = half_to_float(static_cast<std::uint16_t>(kept)) != float_of(magnitude);
  if (inexact && goes_away(rounding, sign != 0)) ++kept;
  return sign | kept;
}

inline std::uint32_t float_to_bf16(float value, Rounding rounding) {
  if (rounding == Rounding::kNearest || value != value) return float_to_bf16_rn(value);
  const std::uint32_t bits = bits_of(value);
  const bool inexact = (bits & 0xFFFFu) != 0;
  const bool away = inexact && goes_away(rounding, (bits & kFloatSign) != 0);
  return (bits >> 16) + (away ? 1 : 0);
}

inline float double_to_float(double value, Rounding rounding) {
  const auto near = static_cast<float>(value);
  if (rounding == Rounding::kNearest || value != value) return near;
  const auto back = static_cast<double>(near);
  const bool negative = std::signbit(value);
  const bool larger = std::fabs(back) > std::fabs(value);  // rounded away
  const bool smaller = std::fabs(back) < std::fabs(value);
  const bool away = goes_away(rounding, negative);
  std::uint32_t bits = bits_of(near);
  if (larger && !away) --bits;
  if (smaller && away) ++bits;
  return float_of(bits);
}

/// The bits of a NaN's fraction go along; it becomes quiet.
[[gnu::always_inline]] inline double float_to_double(float value) {
  const std::uint64_t bits = bits_of(value);
  const std::uint64_t nan =
      (bits & kFloatSign) << 32 | kDoubleInfinity | kDoubleQuiet | (bits & 0x7FFFFFu) << 29;
  return value != value ? double_of(nan) : static_cast<double>(value);
}

struct F16Format {
  using Native = float;
  using Register = std::uint32_t;
  static constexpr bool kIsSingle = false;
  static constexpr std::uint32_t kInfinity = 0x7C00u;
  [[gnu::always_inline]] static float load(std::uint32_t bits) {
    return half_to_float(static_cast<std::uint16_t>(bits));
  }
  [[gnu::always_inline]] static std::uint32_t nearest(float value) {
    return float_to_half_rn(value);
  }
  [[gnu::always_inline]] static std::uint32_t nearest(double value) {
    return float_to_half_rn(double_to_float_odd(value));
  }
  static std::uint32_t store(float value, Rounding rounding) {
    return float_to_half(value, rounding);
  }
  static std::uint32_t store(double value, Rounding rounding) {
    return float_to_half(double_to_float_odd(value), rounding);
  }
};

struct Bf16Format {
  using Native = float;
  using Register = std::uint32_t;
  static constexpr bool kIsSingle = false;
  static constexpr std::uint32_t kInfinity = 0x7F80u;
  [[gnu::always_inline]] static float load(std::uint32_t bits) {
    return bf16_to_float(static_cast<std::uint16_t>(bits));
  }
  [[gnu::always_inline]] static std::uint32_t nearest(float value) {
    return float_to_bf16_rn(value);
  }
  [[gnu::always_inline]] static std::uint32_t nearest(double value) {
    return float_to_bf16_rn(double_to_float_odd(value));
  }
  static std::uint32_t store(float value, Rounding rounding) {
    return float_to_bf16(value, rounding);
  }
  static std::uint32_t store(double value, Rounding rounding) {
    return float_to_bf16(double_to_float_odd(value), rounding);
  }
};

struct F32Format {
  using Native = float;
  using Register = std::uint32_t;
  static constexpr bool kIsSingle = true;
  static constexpr std::uint32_t kInfinity = kFloatInfinity;
  [[gnu::always_inline]] static float load(std::uint32_t bits) { return float_of(bits); }
  [[gnu::always_inline]] static std::uint32_t nearest(float value) {
    return bits_of(canonical(value));
  }
  [[gnu::always_inline]] static std::uint32_t nearest(double value) {
    return bits_of(canonical(static_cast<float>(value)));
  }
  static std::uint32_t store(float value, Rounding) { return bits_of(canonical(value)); }
  static std::uint32_t store(double value, Rounding rounding) {
    return bits_of(canonical(double_to_float(value, rounding)));
  }
};

struct F64Format {
  using Native = double;
  using Register = std::uint64_t;
  static constexpr bool kIsSingle = false;
  static constexpr std::uint64_t kInfinity = kDoubleInfinity;
  [[gnu::always_inline]] static double load(std::uint64_t bits) { return double_of(bits); }
  [[gnu::always_inline]] static std::uint64_t nearest(float value) {
    return bits_of(float_to_double(value));
  }
  [[gnu::always_inline]] static std::uint64_t nearest(double value) {
    return bits_of(value == value ? value : quiet(value));
  }
  static std::uint64_t store(float value, Rounding) { return nearest(value); }
  static std::uint64_t store(double value, Rounding) { return nearest(value); }
};

/// To an integer, with the sign of a zero.
template <class T>
[[gnu::always_inline]] inline T to_integral(T value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearest:
      return std::rint(value);
    case Rounding::kZero:
      return std::trunc(value);
    case Rounding::kDown:
      return std::floor(value);
    case Rounding::kUp:
      return std::ceil(value);
  }
  return value;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
