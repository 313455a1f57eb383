// The interleaved layout of a matrix, 16 rows at a time: the layout in which the CPU multiplies
// weights fastest. Of 16 neighbouring rows (a group) come the first blocks, then the second ones,
// and so on. Of 16 blocks come the first words of each field, then the second ones. A word has the
// bytes that a lane of a vector is made from. So a vector of words holds 16 rows, everything is
// read in memory order, and no sum is taken over lanes. It takes as many bytes as plain rows do. A
// last group that has fewer rows takes the bytes of 16.
//
// For example Q4_0, whose block is an F16 and 16 bytes of nibbles: 16 scales, then the first four
// bytes of 16 rows, the second four, the third four, the last four.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shunt/tensor.h"

namespace shunt::cpu {

/// Rows of a group.
inline constexpr std::int64_t kGroupRows = 16;

/// Bytes of a block that are words of one size.
struct BlockField {
  std::uint16_t offset = 0;  ///< in the block; 16 times as far in a group's
  std::uint16_t bytes = 0;
  std::uint16_t word = 4;  ///< bytes: 1, 2 or 4
};

/// How the blocks of a type are interleaved.
struct BlockFields {
  std::int64_t elements = 0;  ///< of a block; two of BF16 are one
  std::int64_t bytes = 0;
  std::span<const BlockField> fields;  ///< in order, without gaps; none: it is never interleaved
};
BlockFields block_fields(DType type);

/// Whether a tensor may be interleaved: it has bytes, its rows are plain and in whole blocks, and
/// if it has slices these are whole groups.
bool can_interleave(const Tensor& tensor);
/// Bytes that it takes then.
std::size_t interleaved_bytes(const Tensor& tensor);

/// Bytes of a row, plain or in a group.
std::int64_t interleaved_row_bytes(DType type, std::int64_t k);

/// Convert a group of 16 adjacent rows of k elements, in both directions. Nothing overlaps.
void interleave_rows(DType type, std::int64_t k, const std::byte* plain, std::byte* group);
void separate_rows(DType type, std::int64_t k, const std::byte* group, std::byte* plain);
/// The position in a group of byte number `at` of its plain rows.
std::size_t interleaved_at(DType type, std::int64_t k, std::size_t at);
/// `count` elements from `first` (whole blocks) of row `row` of a group, plain.
void separate_row(DType type, const std::byte* group, std::int64_t row, std::int64_t first,
                  std::int64_t count, std::byte* plain);

}  // namespace shunt::cpu
