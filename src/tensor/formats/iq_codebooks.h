// The codebooks of the IQ formats: sets of vectors, chosen by the formats' author so that they are
// spread well over what weights look like. Facts of the format. In the order of the formats'
// indices.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace shunt::formats {

template <std::size_t Count, std::size_t Size>
using Codebook = std::array<std::array<std::int8_t, Size>, Count>;

/// What elements of a vector may be.
inline constexpr std::int8_t kIq2Levels[] = {8, 25, 43};
inline constexpr std::int8_t kIq3XxsLevels[] = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr std::int8_t kIq3SLevels[] = {1, 3, 5, 7, 9, 11, 13, 15};
inline constexpr std::int8_t kIq1Levels[] = {-1, 0, 1};
inline constexpr float kIq1Shift = 0.125f;

extern const Codebook<256, 8> kIq2XxsVectors;
extern const Codebook<512, 8> kIq2XsVectors;
extern const Codebook<1024, 8> kIq2SVectors;
extern const Codebook<256, 4> kIq3XxsVectors;
extern const Codebook<512, 4> kIq3SVectors;
extern const Codebook<2048, 8> kIq1Vectors;

/// 8 signs in 7 bits: bit i is that of element i, and the last one makes the number of negative
/// elements even.
constexpr unsigned even_signs(unsigned bits) {
  bits &= 127;
  return bits | (static_cast<unsigned>(std::popcount(bits)) & 1) << 7;
}

/// 4 times 7 bits of signs, 4 bits of scale on top.
constexpr std::uint32_t pack_even_signs(const std::uint8_t* signs, unsigned scale) {
  std::uint32_t bits = scale << 28;
  for (int i = 0; i < 4; ++i) bits |= (signs[i] & 127u) << 7 * i;
  return bits;
}

/// values[i] = scale * vector[i], negative where bit i of `signs` is set.
template <std::size_t Size>
void write_signed(const std::array<std::int8_t, Size>& vector, unsigned signs, float scale,
                  float* values) {
  for (std::size_t i = 0; i < Size; ++i) {
    const float value = scale * static_cast<float>(vector[i]);
    values[i] = (signs >> i & 1) != 0 ? -value : value;
  }
}

/// values[i] = scale * (vector[i] + shift).
inline void write_shifted(const std::array<std::int8_t, 8>& vector, float shift, float scale,
                          float* values) {
  for (std::size_t i = 0; i < 8; ++i) {
    values[i] = scale * (static_cast<float>(vector[i]) + shift);
  }
}

}  // namespace shunt::formats
