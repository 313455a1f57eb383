// The inner loops of attention: a block of keys that is in the cache, times some rows of q. Every
// sum is taken in an order that hangs on where blocks begin only (and the level, see level.h), not
// on how many rows come at once. Scores are in units of ln 2, so that weights are powers of 2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "shunt/tensor.h"

namespace shunt::cpu::simd {

/// Keys in a block.
inline constexpr std::int64_t kKeyBlock = 64;
/// Rows of q in a tile, at most.
inline constexpr std::int64_t kTileRows = 6;
/// Keys are packed in groups of so many, and elements of d in multiples of it.
inline constexpr std::int64_t kKeyGroup = 16;
/// Floats that a row has after its values: the sums of weights that each lane has seen, the largest
/// score, and a gap.
inline constexpr std::int64_t kRowTail = 32;
inline constexpr std::int64_t kWeightSums = 16;

/// Whether rows of this type are packed as they are; others are decoded to F32 before.
bool packs(DType type);
/// Turns `count` keys, from `first` of a block on (a multiple of kKeyGroup), so that those of one
/// element of d lie together. Key n is at from + n * stride bytes and has d elements, after which
/// zeros make whole groups of kKeyGroup. `keys`: kKeyBlock times as many floats.
void pack_keys(DType type, const std::byte* from, std::int64_t stride, std::int64_t first,
               std::int64_t count, std::int64_t d, float* keys);

/// Decodes `count` rows of dv elements, and makes whole groups of kKeyGroup of them with zeros; row
/// n is at from + n * stride bytes.
void unpack_values(DType type, const std::byte* from, std::int64_t stride, std::int64_t count,
                   std::int64_t dv, float* to, std::int64_t to_stride);

/// Whether this machine multiplies BF16 in pairs, at the level in use. Then k and v of BF16 are
/// used as they are, and q and the weights are rounded to BF16. A pair takes the place of a float:
/// two elements of q or of a key (pack_keys for F32 and d / 2 packs them), and an element of two
/// neighbouring rows of v.
bool has_pairs();
/// Makes pairs of `count` rows of dv elements, a multiple of kKeyGroup, as unpack_values decodes
/// them: to half as many rows, rounded up.
void pair_values(const std::byte* from, std::int64_t stride, std::int64_t count, std::int64_t dv,
                 float* to, std::int64_t to_stride);

/// A block of keys.
struct KeyBlock {
  const float* keys;          ///< from pack_keys
  std::int64_t d;             ///< a multiple of kKeyGroup
  const float* values;        ///< [kKeyBlock][value_stride]
  std::int64_t value_stride;  ///< in floats
  std::int64_t dv;            ///< a multiple of kKeyGroup
  bool pairs;                 ///< of BF16 in place of floats; then d is a multiple of 2 * kKeyGroup
};

/// Some rows of q, and what they have gathered so far.
struct QueryRows {
  std::int64_t count;  ///< 1 to kTileRows
  const float* q;      ///< [count][q_stride], scaled by log2(e) unless there is a softcap
  std::int64_t q_stride;
  std::array<const float*, kTileRows> mask;  ///< [kKeyBlock], or null: nothing is added
  std::array<float, kTileRows> slopes;       ///< what the mask is multiplied with
  float softcap;
  float* gathered;  ///< [count][gathered_stride]: dv values, then kRowTail floats
  std::int64_t gathered_stride;
};

/// Adds what the first `seen` keys of a block give: at least 1, and 64 at most.
void attend(const KeyBlock& block, const QueryRows& rows, std::int64_t seen);

}  // namespace shunt::cpu::simd
