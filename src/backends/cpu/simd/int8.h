// Products of quantised weights with activations that are rounded to 8 bits: each block of 32
// elements of a column has a scale of its own, 1/127 of its largest magnitude. Weights are not
// rounded: their codes are multiplied as integers, exactly, and then by the two scales. A column
// with an element that is infinite or not a number has results that are not a number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/level.h"
#include "shunt/tensor.h"

namespace shunt::cpu::simd {

/// Elements of a block of activations.
inline constexpr std::int64_t kInt8Block = 32;

/// The order in which a type's codes are made, see codes-inl.h.
enum class CodeOrder : std::uint8_t { kNatural, kHalves, kPairs, kQuarters };

/// The form of activations that a type needs. Columns that are rounded for one need serve all types
/// that have it.
struct Int8Need {
  std::int64_t scales = 0;  ///< of weights, a block of 32: 1 or 2
  std::int64_t mins = 0;    ///< of weights, a block of 32: 0, 1 or 2
  CodeOrder order = CodeOrder::kNatural;
  bool operator==(const Int8Need&) const = default;
};

/// Whether weights of a type can be multiplied so.
bool has_codes(Level level, DType type);
/// Of a type that has codes.
Int8Need int8_need(Level level, DType type);

// ---- few columns: weights are decoded in registers and used at once

/// The most columns that count as few: their sums are in registers at once. With more, decoding
/// rows once for all of them is faster.
inline constexpr std::int64_t kFewInt8Columns = 4;
/// Bytes of one column of k elements, a multiple of 64.
std::int64_t few_bytes(std::int64_t k);
/// Rounds a column of k elements (a multiple of 32). `to` is 64-byte aligned.
void quantize_few(Level level, const float* x, std::int64_t k, Int8Need need, std::byte* to);
/// y[r + c * y_stride] = row r of w times column c. Row r starts at w + r * w_stride bytes, column
/// c, from quantize_few(), at x + c * few_bytes(k).
void multiply_few(Level level, DType type, const std::byte* w, std::int64_t w_stride,
                  std::int64_t rows, const std::byte* x, std::int64_t columns, std::int64_t k,
                  float* y, std::int64_t y_stride);

// ---- columns that are stored together: for panels, and for interleaved rows (int8_lanes.h)

/// Bytes of each block of 32 elements of `together` columns, rounded.
constexpr std::int64_t column_block_bytes(Int8Need need, std::int64_t together) {
  return 4 * together * (8 + 1 + (need.mins == 0 ? need.scales : need.mins));
}
/// Rounds `count` columns (at most `together`, for which there is room) of k elements (a multiple
/// of 32), that start x_stride floats apart.
void quantize_columns(Level level, const float* x, std::int64_t x_stride, std::int64_t count,
                      std::int64_t together, std::int64_t k, Int8Need need, std::byte* to);

// ---- many columns: rows are decoded for a stretch of k, then used for all columns

/// Columns that are stored together for panels.
inline constexpr std::int64_t kManyColumns = 6;
/// Rows of a panel, and the elements of k that it has at most: a multiple of all types' blocks.
inline constexpr std::int64_t kInt8Rows = 32;
inline constexpr std::int64_t kInt8Depth = 512;
/// Bytes of the largest panel.
inline constexpr std::int64_t kInt8PanelBytes =
    kInt8Depth / kInt8Block * (kInt8Rows * 32 + 3 * 128);
/// Decodes `rows` (at most kInt8Rows) rows of w, k elements of each (a multiple of the type's
/// block, at most kInt8Depth). Rows that do not exist become zeros. `panel` is 64-byte aligned.
void decode_panel(Level level, DType type, const std::byte* w, std::int64_t w_stride,
                  std::int64_t rows, std::int64_t k, std::byte* panel);
/// y[r + c * y_stride] = (or +=, if `add`) row r of the panel times column c, for kInt8Rows rows
/// and `columns` (at most kManyColumns) columns; k is the panel's, x starts at the same k.
void multiply_panel(Level level, Int8Need need, const std::byte* panel, std::int64_t k,
                    const std::byte* x, std::int64_t columns, float* y, std::int64_t y_stride,
                    bool add);

}  // namespace shunt::cpu::simd
