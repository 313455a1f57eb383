// The building blocks of encoders that take a block's extremes. Values are finite; a value scaled
// by a reciprocal may still be infinite or, as 0 times that, not a number.
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/formats/bits.h"

namespace shunt::formats {

/// The first value of largest magnitude, with its sign. The magnitude is a variable of its own:
/// clang 19 takes x for positive where it sees fabs(x) > 0 (llvm-project issue 152824). From
/// `if (fabs(x) > fabs(result)) result = x`, unrolled from result = 0, it drops the second fabs.
inline float largest(const float* values, std::int64_t n) {
  float result = 0.0f;
  float magnitude = 0.0f;
  for (std::int64_t i = 0; i < n; ++i) {
    const float here = std::fabs(values[i]);
    if (!(here > magnitude)) continue;
    result = values[i];
    magnitude = here;
  }
  return result;
}

struct Range {
  float low, high;
};
inline Range range(const float* values, std::int64_t n) {
  Range result = {values[0], values[0]};
  for (std::int64_t i = 1; i < n; ++i) {
    if (values[i] < result.low) result.low = values[i];
    if (values[i] > result.high) result.high = values[i];
  }
  return result;
}

/// 1 / d, or 0 for 0.
inline float reciprocal(float d) {
  return d != 0.0f ? 1.0f / d : 0.0f;
}

/// The integer part, held to 0 to Max. A conversion of a number that doesn't fit an integer is
/// undefined: hence the comparisons before it.
template <int Max>
std::uint8_t truncate(float value) {
  if (value >= static_cast<float>(Max)) return Max;
  return value > 0.0f ? static_cast<std::uint8_t>(value) : std::uint8_t{0};
}

/// The nearest of -1, 0 and 1, as 0, 1 and 2; halves round away from zero.
inline std::uint8_t ternary(float value) {
  return static_cast<std::uint8_t>(value >= 0.5f ? 2 : value <= -0.5f ? 0 : 1);
}

}  // namespace shunt::formats
