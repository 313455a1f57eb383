// Products of weights in F32, F16 or BF16 with many columns. A panel has rows of w word by word of
// 4 bytes, so that sums of rows are lanes of a vector. Columns of x have the same layout. A word is
// an element in F32, or two in BF16 where the machine multiplies these (AVX512_BF16). With words of
// BF16, x is rounded to BF16, and subnormal numbers in w, in x or in a sum are 0. Every sum is
// taken in the order of k.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/level.h"
#include "shunt/tensor.h"

namespace shunt::cpu::simd {

enum class FloatWord : std::uint8_t { kF32, kTwoBF16 };

constexpr bool is_float_weight(DType w) {
  return w == DType::kF32 || w == DType::kF16 || w == DType::kBF16;
}
/// The words in which weights of such a type are multiplied.
FloatWord float_word(Level level, DType w);
constexpr std::int64_t word_elements(FloatWord word) {
  return word == FloatWord::kTwoBF16 ? 2 : 1;
}

/// The most columns that count as few: packing rows for them takes longer than decoding them again,
/// as dot_rows() of matmul.h does.
constexpr std::int64_t few_float_columns(FloatWord word) {
  return word == FloatWord::kTwoBF16 ? 4 : 12;
}

/// Rows of a panel, columns that are packed together, and words of k that a panel has at most.
inline constexpr std::int64_t kFloatRows = 32;
inline constexpr std::int64_t kFloatColumns = 12;
inline constexpr std::int64_t kFloatDepth = 512;
inline constexpr std::int64_t kFloatPanelBytes = kFloatDepth * kFloatRows * 4;
/// Words of a panel or of columns are made, though not all used, up to a multiple of this.
inline constexpr std::int64_t kFloatPadding = 32;

/// `rows` (at most kFloatRows) rows of w, k elements of each (at most kFloatDepth words), into a
/// panel, which is 64-byte aligned. Rows that do not exist, and elements beyond k, become zeros.
void pack_rows(Level level, DType type, const std::byte* w, std::int64_t w_stride,
               std::int64_t rows, std::int64_t k, std::byte* panel);
/// The same of `count` (at most kFloatColumns) columns of k elements, that start x_stride floats
/// apart: word by word of kFloatColumns columns.
void pack_columns(Level level, FloatWord word, const float* x, std::int64_t x_stride,
                  std::int64_t count, std::int64_t k, std::byte* to);
/// y[r + c * y_stride] = (or +=, if `add`) row r of the panel times column c, for `rows` (at most
/// kFloatRows) rows and `columns` (at most kFloatColumns) columns, over `words` words of both.
void multiply_packed(Level level, FloatWord word, const std::byte* panel, std::int64_t rows,
                     std::int64_t words, const std::byte* x, std::int64_t columns, float* y,
                     std::int64_t y_stride, bool add);

/// y[r + c * y_stride] = row r of w times column c over `words` words of two BF16, where the
/// machine multiplies these. There are `rows` interleaved rows (backends/cpu/interleaved.h), from
/// the start of a group at `w` on, and `columns` (1 to kFloatColumns) packed columns.
void multiply_lane_words(Level level, const std::byte* w, std::int64_t rows, std::int64_t words,
                         const std::byte* x, std::int64_t columns, float* y, std::int64_t y_stride);

}  // namespace shunt::cpu::simd
