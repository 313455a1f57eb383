// Values of f32 and f64 as PTX treats them: NaN results, .ftz, .sat and the rounding modifiers.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda/instructions/halves.h"
#include "cuda/instructions/level.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

enum class Rounding : std::uint8_t { kNearest, kZero, kDown, kUp };  // rn rz rm rp

inline constexpr std::uint32_t kFloatNan = 0x7FFFFFFFu;
/// An invalid f64 operation without a NaN operand gives this NaN.
inline constexpr std::uint64_t kDoubleNan = 0xFFF8000000000000u;
inline constexpr std::uint64_t kDoubleQuiet = 0x0008000000000000u;
inline constexpr std::uint64_t kDoubleInfinity = 0x7FF0000000000000u;
inline constexpr std::uint64_t kDoubleMagnitude = 0x7FFFFFFFFFFFFFFFu;

[[gnu::always_inline]] inline std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
[[gnu::always_inline]] inline std::uint64_t bits_of(double value) {
  return std::bit_cast<std::uint64_t>(value);
}
[[gnu::always_inline]] inline float float_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
[[gnu::always_inline]] inline double double_of(std::uint64_t bits) {
  return std::bit_cast<double>(bits);
}

/// Every f32 instruction gives the same NaN.
[[gnu::always_inline]] inline float canonical(float value) {
  const std::uint32_t bits = bits_of(value);
  return float_of(above(bits & kFloatMagnitude, kFloatInfinity) ? kFloatNan : bits);
}

/// A subnormal becomes a zero of its sign.
[[gnu::always_inline]] inline float flushed(float value) {
  const std::uint32_t bits = bits_of(value);
  return float_of((bits & kFloatInfinity) == 0 ? bits & kFloatSign : bits);
}

/// .sat: within [0, 1], NaN is +0.
[[gnu::always_inline]] inline float saturated(float value) {
  const float low = value > 0.0f ? value : 0.0f;
  return low < 1.0f ? low : 1.0f;
}

template <bool kFtz>
[[gnu::always_inline]] inline float operand(float value) {
  return kFtz ? flushed(value) : value;
}
template <bool kFtz, bool kSat>
[[gnu::always_inline]] inline float result(float value) {
  const float kept = kFtz ? flushed(value) : value;
  return kSat ? saturated(kept) : canonical(kept);
}

[[gnu::always_inline]] inline double quiet(double nan) {
  return double_of(bits_of(nan) | kDoubleQuiet);
}
/// The first NaN among the operands of an f64 instruction, quiet; with none, the invalid
/// operation's.
[[gnu::always_inline]] inline double nan_of(double a) {
  return a != a ? quiet(a) : double_of(kDoubleNan);
}
[[gnu::always_inline]] inline double nan_of(double a, double b) {
  return a != a ? quiet(a) : nan_of(b);
}
[[gnu::always_inline]] inline double nan_of(double a, double b, double c) {
  return a != a ? quiet(a) : nan_of(b, c);
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
