// The keys of paged attention as slots: an entry of the block table has as many as a block has
// rows. A token meets all slots; those of keys that it does not see are hidden.
#pragma once

#include <optional>
#include <string>

#include "backends/cann/calls.h"
#include "backends/cann/kernel.h"
#include "shunt/ops/attention.h"

namespace shunt::cann {

/// The slots of a node of paged_attention. They are computed once in a segment. Rows and slots are
/// computed as F32 numbers, which are exact below 2^24.
class PagedSlots {
 public:
  PagedSlots(Calls& calls, const Operands& node);

  /// Fails the run where the sequences, or the blocks that they name, are not as the op demands.
  /// Whether there are slots and rows: else no token sees anything.
  bool prepare();

  /// Bool [slots, T, 1, 1].
  View hidden() const { return hidden_.reshaped({slots_, tokens_, 1, 1}); }
  /// Tokens that see no slot: Bool [1, 1, T, 1].
  View unseen() const;
  /// Bias of scores before slopes, [slots, T, 1 or H, 1] of F32 or F16. Without a mask and ALiBi
  /// there is none.
  std::optional<View> bias() const;
  /// The rows of all slots of k or v: from [D, Hk, R, 1] of any type of elements to [D, slots, Hk,
  /// 1]. A slot that no token sees has the row of one that a token sees.
  View gather(const View& cache) const;

 private:
  struct Tokens {
    View bases, positions;  ///< F32 [T]: the slot of key 0 of a token's sequence, its position
  };
  Tokens tokens() const;
  View column(std::int64_t i) const;
  void check_blocks(const View& firsts, const View& keys) const;
  void fill_rows() const;
  View near_entries() const;

  Calls& calls_;
  const Operands& node_;
  const PagedAttentionParams& params_;
  std::int64_t sequences_, entries_, slots_, rows_, tokens_;
  std::string key_;
  View hidden_, row_of_, bases_, positions_;
};

}  // namespace shunt::cann
