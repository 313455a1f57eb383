// The codebooks of the IQ formats: sets of vectors, chosen by the formats' author so that they are
// spread well over typical weights. Facts of the format. In the order of the formats' indices.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tensor/formats/iq_codebook_sets.h"

namespace shunt::formats {

template <std::size_t Count, std::size_t Size>
using Codebook = std::array<std::array<std::int8_t, Size>, Count>;

/// The values that elements of a vector may have.
inline constexpr std::int8_t kIq2Levels[] = {8, 25, 43};
inline constexpr std::int8_t kIq3XxsLevels[] = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr std::int8_t kIq3SLevels[] = {1, 3, 5, 7, 9, 11, 13, 15};
inline constexpr std::int8_t kIq1Levels[] = {-1, 0, 1};
inline constexpr float kIq1Shift = 0.125f;

/// The vectors of a codebook are a set of numbers: the levels of a vector's elements are the
/// digits, the first element's the lowest. Bit i of a set is whether number i is in it; vectors are
/// in the order of their numbers.
template <std::size_t Count, std::size_t Size, std::size_t Levels, std::size_t Words>
consteval Codebook<Count, Size> expand(const std::uint64_t (&set)[Words],
                                       const std::int8_t (&levels)[Levels]) {
  Codebook<Count, Size> vectors = {};
  std::size_t found = 0;
  for (std::size_t word = 0; word < Words; ++word) {
    for (std::uint64_t rest = set[word]; rest != 0; rest &= rest - 1) {
      std::size_t number = word * 64 + static_cast<std::size_t>(std::countr_zero(rest));
      for (std::int8_t& element : vectors[found]) {
        element = levels[number % Levels];
        number /= Levels;
      }
      ++found;
    }
  }
  if (found != Count) throw "a set has another number of vectors than the codebook";
  return vectors;
}

// Aligned, so that a GPU loads a vector at once.
alignas(8) inline constexpr auto kIq2XxsVectors = expand<256, 8>(kIq2XxsSet, kIq2Levels);
alignas(8) inline constexpr auto kIq2XsVectors = expand<512, 8>(kIq2XsSet, kIq2Levels);
alignas(8) inline constexpr auto kIq2SVectors = expand<1024, 8>(kIq2SSet, kIq2Levels);
alignas(8) inline constexpr auto kIq3XxsVectors = expand<256, 4>(kIq3XxsSet, kIq3XxsLevels);
alignas(8) inline constexpr auto kIq3SVectors = expand<512, 4>(kIq3SSet, kIq3SLevels);
alignas(8) inline constexpr auto kIq1Vectors = expand<2048, 8>(kIq1Set, kIq1Levels);

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
