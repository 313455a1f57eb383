// The operands of the inner loops of attention: a block of keys, and some rows of q.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace shunt::cpu::simd {

/// Keys in a block.
inline constexpr std::int64_t kKeyBlock = 64;
/// Rows of q in a tile, at most.
inline constexpr std::int64_t kTileRows = 6;
/// Keys are packed in groups of this number, and elements of d in multiples of it.
inline constexpr std::int64_t kKeyGroup = 16;
/// Floats that a row has after its values: the sums of weights that each lane has seen, the largest
/// score, and a gap.
inline constexpr std::int64_t kRowTail = 32;
inline constexpr std::int64_t kWeightSums = 16;

/// Rows of memory to ask for while a block is worked on.
struct RowsAhead {
  const std::byte* first = nullptr;
  std::int64_t stride = 0;
  std::int64_t bytes = 0;  ///< of each
  std::int64_t rows = 0;
};

/// A block of keys.
struct KeyBlock {
  const float* keys;          ///< from pack_keys
  std::int64_t d;             ///< a multiple of kKeyGroup
  const float* values;        ///< [kKeyBlock][value_stride]
  std::int64_t value_stride;  ///< in floats
  std::int64_t dv;            ///< a multiple of kKeyGroup
  bool pairs;                 ///< of BF16 in place of floats; then d is a multiple of 2 * kKeyGroup
  /// Rows of F16 in place of `keys` and `values`, with strides in bytes; null: there are none.
  const std::byte* key_rows = nullptr;
  std::int64_t key_row_stride = 0;
  const std::byte* value_rows = nullptr;
  std::int64_t value_row_stride = 0;
  RowsAhead keys_ahead = {};
  RowsAhead values_ahead = {};
};

/// Some rows of q, and the sums that they have gathered so far.
struct QueryRows {
  std::int64_t count;  ///< 1 to kTileRows
  const float* q;      ///< [count][q_stride], scaled by log2(e) unless there is a softcap
  std::int64_t q_stride;
  std::array<const float*, kTileRows> mask;  ///< [kKeyBlock], or null: nothing is added
  std::array<float, kTileRows> slopes;       ///< factors of the mask
  float softcap;
  float* gathered;  ///< [count][gathered_stride]: dv values, then kRowTail floats
  std::int64_t gathered_stride;
};

}  // namespace shunt::cpu::simd
