// Attention by products of matrices, for all layouts of keys.
#pragma once

#include <optional>

#include "backends/cann/blocks.h"
#include "backends/cann/calls.h"
#include "backends/cann/kernel.h"

namespace shunt::cann {

/// As attention() and paged_attention() define them. F32, unless stated. Nothing is empty.
struct AttentionOperands {
  View q;                           ///< [D, H, T, S]
  View k, v;                        ///< [D, N, Hk, S], [Dv, N, Hk, S], F32, F16 or BF16
  std::optional<View> bias = {};    ///< of scores, before slopes: F32 or F16 [N, T, 1 or H, 1 or S]
  std::optional<View> hidden = {};  ///< scores that count as minus infinity, Bool [N, T, 1, 1]
  std::optional<View> spoiled =
      {};  ///< of v's type and sizes: 1 where v is not a number, and has a 0
  std::optional<View> sinks = {};  ///< [1, 1, H, 1]
  float scale = 1;
  float max_bias = 0;
  float softcap = 0;
};

/// `result`: F32 [Dv, H, T, S].
void attend(Calls& calls, const CannTarget& target, const AttentionOperands& operands,
            const View& result);

/// Elements of keys or values, in the type in which they are multiplied.
View attention_elements(Calls& calls, const StoredTensor& from);

/// CannKernel::rounding_error() of a node whose first sources are q, k and v. `in_half`: it may be
/// computed in F16.
double attention_error(const NodeView& view, float scale, const CannTarget& target, bool in_half);

}  // namespace shunt::cann
