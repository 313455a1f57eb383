// DLFLOAT16, the machine's 16-bit number (NNP-data-type-1): sign, 6 bits of exponent (bias 31), 9
// bits of fraction. No subnormal numbers, no infinity: the largest pattern means both infinity and
// not-a-number (NINF), and the smallest power of two has no pattern, because that one is zero.
//
// All conversions work on bit patterns, so that neither the rounding mode nor the machine has a
// say.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace zdnn_twin {

inline constexpr std::uint16_t kNinf = 0x7FFF;
inline constexpr std::uint16_t kDlfMagnitude = 0x7FFF;
inline constexpr std::uint32_t kDlfMaxAsFp32 = 0x4FFF8000;  // 8573157376
/// From here on a number is rounded to NINF: the largest one and half of its last place.
inline constexpr double kDlfTooLarge = 8577351680.0;

/// The exceptional case that a conversion met.
enum class Odd : std::uint8_t {
  kNothing = 0,
  kNotANumber = 1,
  kInfinite = 2,
  kTooLarge = 4,   // finite, but beyond the result's largest number
  kUnderflow = 8,  // not zero, but the result is
};

/// A set of these.
struct OddSet {
  std::uint8_t bits = 0;
  void add(Odd odd) { bits = static_cast<std::uint8_t>(bits | static_cast<std::uint8_t>(odd)); }
  bool has(Odd odd) const { return (bits & static_cast<std::uint8_t>(odd)) != 0; }
};

struct Converted {
  std::uint16_t pattern;
  Odd odd;
};

/// To nearest, ties away from zero; too large becomes NINF, too small a zero with its sign.
Converted dlf_from_fp32(std::uint32_t pattern);
Converted dlf_from_fp16(std::uint16_t pattern);
Converted dlf_from_bfloat(std::uint16_t pattern);
Converted dlf_from_double(double value);

/// Exact; NINF becomes a quiet NaN.
inline std::uint32_t fp32_from_dlf(std::uint16_t dlf) {
  const std::uint32_t magnitude = dlf & kDlfMagnitude;
  if (magnitude == kNinf) return 0x7FC00000;
  const std::uint32_t sign = static_cast<std::uint32_t>(dlf >> 15) << 31;
  return magnitude == 0 ? sign : sign | ((magnitude << 14) + (std::uint32_t{127 - 31} << 23));
}
/// The upper half of that: truncated.
std::uint16_t bfloat_from_dlf(std::uint16_t dlf);
/// 65536 and more is too large (infinity), NINF not a number; subnormal numbers to nearest, ties
/// away.
Converted fp16_from_dlf(std::uint16_t dlf);

/// The nearest DLFLOAT16 number to a finite FP32 pattern's that is not beyond the largest: that
/// pattern itself or the limit's.
std::uint32_t fp32_saturated(std::uint32_t pattern);

inline float float_from_dlf(std::uint16_t dlf) {
  return std::bit_cast<float>(fp32_from_dlf(dlf));
}

/// The number; NaN for NINF. Operations compute with these.
inline double double_from_dlf(std::uint16_t dlf) {
  const std::uint64_t magnitude = dlf & kDlfMagnitude;
  if (magnitude == kNinf) return std::numeric_limits<double>::quiet_NaN();
  const std::uint64_t sign = static_cast<std::uint64_t>(dlf >> 15) << 63;
  if (magnitude == 0) return std::bit_cast<double>(sign);
  return std::bit_cast<double>(sign | ((magnitude << 43) + (std::uint64_t{1023 - 31} << 52)));
}

/// A host's number as the machine takes it as a parameter: rounded to DLFLOAT16.
inline double as_dlf(double value) {
  return double_from_dlf(dlf_from_double(value).pattern);
}

}  // namespace zdnn_twin
