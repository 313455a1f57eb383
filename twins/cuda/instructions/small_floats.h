// Float formats of 4, 6 and 8 bits, as the elements of packed values.
#pragma once

#include "cuda/instructions/float_values.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// .relu: a negative number becomes +0.
[[gnu::always_inline]] inline float with_relu(float value, bool relu) {
  const float positive = value > 0 ? value : 0.0f;
  return relu && value == value ? positive : value;
}

// Each has kBits of an element, in kSlot bits of the packed value, and the numbers of its
// NarrowFormat. narrow() rounds to nearest even and saturates.
struct E4m3 {
  static constexpr unsigned kBits = 8, kSlot = 8, kFraction = 3;
  static constexpr int kBias = 7;
  static constexpr std::uint32_t kMost = 0x7E, kNan = 0x7F;
  [[gnu::always_inline]] static std::uint32_t narrow(float value) {
    return float_to_e4m3_rn(value);
  }
  [[gnu::always_inline]] static float wide(std::uint32_t bits) {
    return e4m3_to_float(static_cast<std::uint8_t>(bits));
  }
};
struct E5m2 {
  static constexpr unsigned kBits = 8, kSlot = 8, kFraction = 2;
  static constexpr int kBias = 15;
  static constexpr std::uint32_t kMost = 0x7B, kNan = 0x7F;
  [[gnu::always_inline]] static std::uint32_t narrow(float value) {
    return float_to_e5m2_rn(value);
  }
  [[gnu::always_inline]] static float wide(std::uint32_t bits) {
    return e5m2_to_float(static_cast<std::uint8_t>(bits));
  }
};

/// A format of numbers only: a NaN becomes the largest one.
template <unsigned kExponentBits, unsigned kFractionBits>
struct NumbersOnly {
  static constexpr unsigned kBits = 1 + kExponentBits + kFractionBits;
  static constexpr unsigned kSlot = kBits == 4 ? 4 : 8;
  static constexpr unsigned kFraction = kFractionBits;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr std::uint32_t kMost = (1u << (kBits - 1)) - 1, kNan = kMost;
  [[gnu::always_inline]] static std::uint32_t narrow(float value) {
    return NarrowFormat<kFraction, kBias, kMost, kNan, kBits>::from_float(value);
  }
  [[gnu::always_inline]] static float wide(std::uint32_t bits) {
    const std::uint32_t sign = (bits >> (kBits - 1) & 1u) << 31;
    // As the bits of a float, the value is too small by the difference of the biases.
    const float scale = float_of(static_cast<std::uint32_t>(254 - kBias) << 23);
    return float_of(sign | bits_of(float_of((bits & kMost) << (23 - kFraction)) * scale));
  }
};
using E2m1 = NumbersOnly<2, 1>;
using E2m3 = NumbersOnly<2, 3>;
using E3m2 = NumbersOnly<3, 2>;

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
