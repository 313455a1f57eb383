// Exact conversions between float and the narrow formats f16, bf16, e4m3 and e5m2, in code without
// branches. Rounding is to nearest even; a NaN becomes the format's canonical one (0x7FFF, 0x7F).
// They need the default floating-point environment, with subnormals.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda/instructions/level.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

inline constexpr std::uint32_t kFloatSign = 0x80000000u;
inline constexpr std::uint32_t kFloatMagnitude = 0x7FFFFFFFu;
inline constexpr std::uint32_t kFloatInfinity = 0x7F800000u;

// Magnitudes compare as signed integers: vectors have that comparison at every level.
[[gnu::always_inline]] inline bool above(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a) > static_cast<std::int32_t>(b);
}

[[gnu::always_inline]] inline float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7FFFu;
  // As the bits of a float, the value is 2^-112 times too small, subnormals included.
  const auto scaled =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f);
  const std::uint32_t special = above(magnitude, 0x7BFFu) ? kFloatInfinity : 0u;
  return std::bit_cast<float>(sign | scaled | special);
}

[[gnu::always_inline]] inline float bf16_to_float(std::uint16_t bf16) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bf16) << 16);
}

/// A narrow format whose exponent is shorter than that of float.
template <unsigned kFractionBits, int kBias, std::uint32_t kOverflow, std::uint32_t kNan,
          unsigned kBits>
struct NarrowFormat {
  static constexpr unsigned kDropped = 23 - kFractionBits;
  static constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << 23;
  static constexpr std::uint32_t kLeastNormal = static_cast<std::uint32_t>(128 - kBias) << 23;

  [[gnu::always_inline]] static std::uint32_t from_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & kFloatMagnitude;
    const std::uint32_t sign = (bits >> (32 - kBits)) & (1u << (kBits - 1));
    const std::uint32_t odd = (magnitude >> kDropped) & 1u;
    const std::uint32_t half_less_one = (1u << (kDropped - 1)) - 1u;
    const std::uint32_t rounded = (magnitude - kRebias + half_less_one + odd) >> kDropped;
    const std::uint32_t normal = above(rounded, kOverflow) ? kOverflow : rounded;
    // One unit of this number is the format's smallest subnormal: the addition rounds.
    constexpr auto kUnit =
        std::bit_cast<float>(static_cast<std::uint32_t>(128 - kBias + 23 - kFractionBits) << 23);
    const auto small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + kUnit) -
                       std::bit_cast<std::uint32_t>(kUnit);
    const std::uint32_t finite = above(kLeastNormal, magnitude) ? small : normal;
    const std::uint32_t infinite = above(magnitude, kFloatInfinity - 1) ? kOverflow : finite;
    return above(magnitude, kFloatInfinity) ? kNan : sign | infinite;
  }
};
using HalfFormat = NarrowFormat<10, 15, 0x7C00, 0x7FFF, 16>;
using E4m3Format = NarrowFormat<3, 7, 0x7E, 0x7F, 8>;   // saturates at 448
using E5m2Format = NarrowFormat<2, 15, 0x7B, 0x7F, 8>;  // saturates at 57344

[[gnu::always_inline]] inline std::uint16_t float_to_half_rn(float value) {
  return static_cast<std::uint16_t>(HalfFormat::from_float(value));
}

[[gnu::always_inline]] inline std::uint16_t float_to_bf16_rn(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<std::uint16_t>(above(bits & kFloatMagnitude, kFloatInfinity) ? 0x7FFFu
                                                                                  : rounded);
}

/// Saturates: larger numbers and infinity become the largest finite number.
[[gnu::always_inline]] inline std::uint8_t float_to_e4m3_rn(float value) {
  return static_cast<std::uint8_t>(E4m3Format::from_float(value));
}
[[gnu::always_inline]] inline std::uint8_t float_to_e5m2_rn(float value) {
  return static_cast<std::uint8_t>(E5m2Format::from_float(value));
}

[[gnu::always_inline]] inline float e4m3_to_float(std::uint8_t e4m3) {
  const std::uint32_t sign = (e4m3 & 0x80u) << 24;
  const std::uint32_t magnitude = e4m3 & 0x7Fu;
  const auto scaled =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 20) * 0x1p120f);
  return std::bit_cast<float>(magnitude == 0x7Fu ? kFloatMagnitude : sign | scaled);
}
[[gnu::always_inline]] inline float e5m2_to_float(std::uint8_t e5m2) {
  const std::uint32_t magnitude = e5m2 & 0x7Fu;
  const auto wide = static_cast<std::uint16_t>(magnitude > 0x7Cu ? 0x7FFFu : e5m2 * 256u);
  return half_to_float(wide);
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
