// The inner loops of attention: a block of keys that is in the cache, times some rows of q. The
// order of every sum depends only on where blocks begin (and the level, see level.h), not on how
// many rows come at once. Scores are in units of ln 2, so that weights are powers of 2.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/attention_block.h"
#include "backends/cpu/simd/level.h"
#include "shunt/tensor.h"

namespace shunt::cpu::simd {

/// Whether rows of this type are packed as they are; others are decoded to F32 before.
bool packs(DType type);
/// Transposes `count` keys, from `first` of a block on (a multiple of kKeyGroup), so that their
/// elements of one d are adjacent. Key n is at from + n * stride bytes and has d elements, after
/// which zeros make whole groups of kKeyGroup. `keys`: kKeyBlock times as many floats.
void pack_keys(Level level, DType type, const std::byte* from, std::int64_t stride,
               std::int64_t first, std::int64_t count, std::int64_t d, float* keys);

/// Decodes `count` rows of dv elements, and makes whole groups of kKeyGroup of them with zeros; row
/// n is at from + n * stride bytes.
void unpack_values(Level level, DType type, const std::byte* from, std::int64_t stride,
                   std::int64_t count, std::int64_t dv, float* to, std::int64_t to_stride);

/// Whether a level multiplies BF16 in pairs. Then k and v of BF16 are
/// used as they are, and q and the weights are rounded to BF16. A pair takes the place of a float:
/// two elements of q or of a key (pack_keys for F32 and d / 2 packs them), and an element of two
/// neighbouring rows of v.
bool has_pairs(Level level);
/// Makes pairs of `count` rows of dv elements, a multiple of kKeyGroup, as unpack_values decodes
/// them: to half as many rows, rounded up.
void pair_values(Level level, const std::byte* from, std::int64_t stride, std::int64_t count,
                 std::int64_t dv, float* to, std::int64_t to_stride);

/// Adds the contribution of the first `seen` keys of a block: at least 1, and 64 at most.
void attend(Level level, const KeyBlock& block, const QueryRows& rows, std::int64_t seen);

}  // namespace shunt::cpu::simd
