// The two 16-bit floats: F16 (IEEE 754 binary16) and BF16 (the upper half of a binary32). Decoding
// is exact; encoding rounds to nearest, ties to even. A NaN stays one: quiet, with the upper bits
// of its payload.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace shunt::formats {

inline constexpr float kLargestF16 = 65504.0f;

constexpr float f16_to_f32(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, which a float holds exactly
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  if (exponent == 0x1f) {
    const std::uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | mantissa << 13);
  }
  return std::bit_cast<float>(sign | (exponent + 127 - 15) << 23 | mantissa << 13);
}

/// `value` without its lowest `shift` bits (1 to 31), rounded to nearest even.
constexpr std::uint32_t shift_right_to_even(std::uint32_t value, std::uint32_t shift) {
  const std::uint32_t kept = value >> shift;
  const std::uint32_t rest = value & ((1u << shift) - 1);
  const std::uint32_t half = 1u << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1u) != 0) ? 1u : 0u);
}

constexpr std::uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000u) {  // NaN
    half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >=
             0x477ff000u) {  // 65520, halfway past the largest F16, and above: infinity
    half = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {  // 2^-14, the smallest normal F16, and above
    // Change of bias first; a carry out of the mantissa then moves the exponent up, as it should.
    half = shift_right_to_even(magnitude - ((127u - 15u) << 23), 13);
  } else if (magnitude >= 0x33000000u) {  // 2^-25, half of the smallest subnormal, and above
    const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    half = shift_right_to_even(mantissa, 126u - (magnitude >> 23));  // in units of 2^-24
  }
  return static_cast<std::uint16_t>(sign | half);
}

constexpr float bf16_to_f32(std::uint16_t bits) {
  const std::uint32_t quiet = (bits & 0x7fffu) > 0x7f80u ? 0x400000u : 0u;
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16 | quiet);
}

constexpr std::uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  // Rounding up may carry into the exponent, and up to infinity: both are correct rounding.
  return static_cast<std::uint16_t>(shift_right_to_even(bits, 16));
}

// Rows, in the host's byte order.
void decode_f16(const std::byte* from, float* to, std::int64_t n);
void encode_f16(const float* from, std::byte* to, std::int64_t n);
void decode_bf16(const std::byte* from, float* to, std::int64_t n);
void encode_bf16(const float* from, std::byte* to, std::int64_t n);

}  // namespace shunt::formats
