// Attention with all heads in one call: the common half of four interfaces. Each interface has its
// own signature and limits; `AttentionRoles` says where the arguments are.
#pragma once

#include <cstdint>
#include <vector>

#include "ascend/ops/op.h"

namespace ascend_twin {

/// Positions of arguments; kAbsent where the interface has none.
inline constexpr std::size_t kAbsent = ~std::size_t{0};
struct AttentionRoles {
  std::size_t query, key, value;
  std::size_t bias;  ///< pseShift: added to the scaled scores
  std::size_t mask;  ///< not 0: hidden
  std::size_t query_lengths = kAbsent, key_lengths = kAbsent;
  std::size_t heads, scale;
  std::size_t before = kAbsent, after = kAbsent;  ///< preTokens, nextTokens
  std::size_t layout, key_heads;
  std::size_t sparse = kAbsent;
  std::size_t precise;
  std::size_t sink = kAbsent;  ///< a logit of each head without a value
  std::size_t lse_flag = kAbsent, lse = kAbsent;
  std::size_t out;
};

enum class HeadLayout : std::uint8_t { kBsh, kBsnd, kBnsd };

/// One use in numbers.
struct Attention {
  HeadLayout layout = HeadLayout::kBsh, out_layout = HeadLayout::kBsh;
  std::int64_t batches = 0, heads = 0, key_heads = 0;
  std::int64_t queries = 0, keys = 0, width = 0;
  std::int64_t before = INT32_MAX, after = INT32_MAX, sparse = 0;
  bool rounds_scores = false;    ///< innerPrecise bit 0: scores in F16
  bool corrects_hidden = false;  ///< bit 1: rows that are hidden altogether are 0
  /// Of each batch.
  std::vector<std::int64_t> query_lengths, key_lengths;
};

/// 161002 for arguments that no chip takes.
Status attention_of(const Call& call, const AttentionRoles& roles, Attention* attention);

/// For phase 1: strict mode objects to operands that are not contiguous, too.
Status check_attention(const Call& call, const AttentionRoles& roles, Attention* attention);

/// [B][N][S][D] of an operand in this layout.
View heads_view(const View& view, HeadLayout layout, std::int64_t heads);

Status attend(Kernel& kernel, const AttentionRoles& roles);

/// A fixed part, and partial results of the cores that share a long row of keys: fewer where
/// batches and heads keep the cores busy.
std::uint64_t attention_workspace(const Attention& attention);

}  // namespace ascend_twin
