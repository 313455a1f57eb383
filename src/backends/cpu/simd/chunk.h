// Products of a chunk of tokens with the state of a recurrence that decays by one number a token:
// the delta rule and state spaces. States are cut into panels of kPanelLanes values. All rows here
// have kPanelLanes floats and are 64-byte aligned. Each lane is computed by itself, in an order
// that depends on the level (level.h) only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/level.h"

namespace shunt::cpu::simd {

/// Tokens of a chunk, at most.
inline constexpr std::int64_t kChunkTokens = 16;
/// Values of a panel. A panel has a row for each channel of the key.
inline constexpr std::int64_t kPanelLanes = 32;
static_assert(kPanelLanes == 2 * kChunkTokens);
/// Channels of the key are padded to a multiple of this: rows that are made, though not all used.
inline constexpr std::int64_t kChannelPadding = 16;

/// A number for each two tokens.
using TokenMatrix = std::array<std::array<float, kChunkTokens>, kChunkTokens>;

/// The numbers of a chunk of one head. Those of tokens from `count` on are 0.
struct ChunkNumbers {
  std::int64_t count = 0;
  float keep = 0;  ///< of the state, over all tokens
  // Factors, by token i.
  std::array<float, kChunkTokens> found;  ///< of the product of its key and the first state
  std::array<float, kChunkTokens> read;   ///< of the product of its query and the first state
  std::array<float, kChunkTokens> share;  ///< of the row that it adds
  std::array<float, kChunkTokens> last;   ///< of its row in the state after the last token
  TokenMatrix found_of;                   ///< [j][i]: of the row of token j, for the key i > j
  TokenMatrix read_of;                    ///< [j][i]: the same for the query i >= j
};

/// Packs row r of `rows`, `n` floats, as to[k * kPanelLanes + r]. Rows from `count` (at most
/// kChunkTokens) on become zeros, and so do the floats from n up to the padding.
void pack_tokens(Level level, const float* const* rows, std::int64_t count, std::int64_t n,
                 float* to);

/// y[r] = the sum over k of tokens[k][r] * panel[k], for rows r in [begin, end), which are
/// multiples of 8. Only the first kChunkTokens lanes if `half`.
void multiply_panel(Level level, const float* tokens, std::int64_t n, std::int64_t begin,
                    std::int64_t end, const float* panel, bool half, float* y);

/// u[i] = share[i] * (u[i] - found[i] * seen[i] - sum over j < i of found_of[j][i] * u[j]).
void solve_panel(Level level, const ChunkNumbers& numbers, const float* seen, float* u);
/// y[i] = read[i] * y[i] + sum over j <= i of read_of[j][i] * u[j], then u[i] = last[i] * u[i].
void read_panel(Level level, const ChunkNumbers& numbers, float* y, float* u);
/// panel[k] = keep * panel[k] + sum over i < count of tokens[k][i] * u[i].
void update_panel(Level level, const ChunkNumbers& numbers, const float* tokens, std::int64_t n,
                  const float* u, float* panel);

/// panel[k][lane] = rows[lane * stride + k] for `count` rows of n floats; the other lanes become
/// zeros, and so do rows from n up to the padding.
void load_panel(Level level, const float* rows, std::int64_t stride, std::int64_t count,
                std::int64_t n, float* panel);
/// The other way round.
void store_panel(Level level, const float* panel, std::int64_t count, std::int64_t n, float* rows,
                 std::int64_t stride);

}  // namespace shunt::cpu::simd
