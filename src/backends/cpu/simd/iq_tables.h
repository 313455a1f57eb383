// The codebooks of the IQ formats as codes-inl.h needs them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/formats/iq_codebooks.h"

namespace shunt::cpu::simd {

/// Codes of a codebook's vectors: elements * multiple + offset.
template <std::size_t Count, std::size_t Size>
struct CodeTable {
  alignas(64) std::uint8_t at[Count][Size];
};
template <std::size_t Count, std::size_t Size>
constexpr CodeTable<Count, Size> code_table(const formats::Codebook<Count, Size>& vectors,
                                            int multiple, int offset) {
  CodeTable<Count, Size> table{};
  for (std::size_t i = 0; i < Count; ++i) {
    for (std::size_t e = 0; e < Size; ++e) {
      table.at[i][e] = static_cast<std::uint8_t>(vectors[i][e] * multiple + offset);
    }
  }
  return table;
}

inline constexpr auto kIq2XxsCodes = code_table(formats::kIq2XxsVectors, 1, 128);
inline constexpr auto kIq2XsCodes = code_table(formats::kIq2XsVectors, 1, 128);
inline constexpr auto kIq2SCodes = code_table(formats::kIq2SVectors, 1, 128);
inline constexpr auto kIq3XxsCodes = code_table(formats::kIq3XxsVectors, 1, 128);
inline constexpr auto kIq3SCodes = code_table(formats::kIq3SVectors, 1, 128);
/// 8 * (element + shift), the shift being positive.
inline constexpr auto kIq1Codes = code_table(formats::kIq1Vectors, 8, 129);

/// A codebook's vectors in 16 bits each: elements as the numbers of their levels, the first one's
/// lowest. Small enough for the tables that AVX-512 has as instructions.
template <std::size_t Count>
struct PackedTable {
  alignas(64) std::uint16_t words[Count];
  alignas(64) std::uint8_t low[Count];   ///< of words
  alignas(64) std::uint8_t high[Count];  ///< of words
};
template <std::size_t Count, std::size_t Size, std::size_t Levels>
constexpr PackedTable<Count> packed_table(const formats::Codebook<Count, Size>& vectors,
                                          const std::int8_t (&levels)[Levels]) {
  constexpr std::size_t kBits = 16 / Size;
  static_assert(Levels <= 1U << kBits);
  PackedTable<Count> table{};
  for (std::size_t i = 0; i < Count; ++i) {
    unsigned word = 0;
    for (std::size_t e = 0; e < Size; ++e) {
      unsigned level = 0;
      while (levels[level] != vectors[i][e]) ++level;
      word |= level << (kBits * e);
    }
    table.words[i] = static_cast<std::uint16_t>(word);
    table.low[i] = static_cast<std::uint8_t>(word & 255U);
    table.high[i] = static_cast<std::uint8_t>(word >> 8U);
  }
  return table;
}
/// The codes of levels, again and again: byte i is that of level i modulo 16 / Size bits.
template <std::size_t Levels>
constexpr std::array<std::uint8_t, 64> level_codes(const std::int8_t (&levels)[Levels],
                                                   std::size_t modulo) {
  std::array<std::uint8_t, 64> codes{};
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::size_t level = i % modulo;
    codes[i] = static_cast<std::uint8_t>(level < Levels ? 128 + levels[level] : 0);
  }
  return codes;
}

inline constexpr auto kIq2XxsPacked = packed_table(formats::kIq2XxsVectors, formats::kIq2Levels);
inline constexpr auto kIq2XsPacked = packed_table(formats::kIq2XsVectors, formats::kIq2Levels);
inline constexpr auto kIq2SPacked = packed_table(formats::kIq2SVectors, formats::kIq2Levels);
inline constexpr auto kIq3XxsPacked = packed_table(formats::kIq3XxsVectors, formats::kIq3XxsLevels);
inline constexpr auto kIq3SPacked = packed_table(formats::kIq3SVectors, formats::kIq3SLevels);
alignas(64) inline constexpr auto kIq2LevelCodes = level_codes(formats::kIq2Levels, 4);
alignas(64) inline constexpr auto kIq3XxsLevelCodes = level_codes(formats::kIq3XxsLevels, 16);
alignas(64) inline constexpr auto kIq3SLevelCodes = level_codes(formats::kIq3SLevels, 16);

}  // namespace shunt::cpu::simd
