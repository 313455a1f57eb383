// Replaces a sequence by tokens whose cache rows are known.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/session/block_pool.h"

namespace shunt {

/// Rows of a block to write.
struct MissingRows {
  std::int64_t block = 0;
  std::int64_t first = 0;  ///< in the block
  std::int64_t count = 0;
  std::int64_t token = 0;  ///< that the first of them is of
};

/// A change of a pool that is undone unless it is committed. Then rows that were to be written or
/// copied to count as lost, as some of them may have been.
class SequenceReplacement {
 public:
  /// Keeps a copy of the pool, which must have no pending copies and outlive this.
  SequenceReplacement(BlockPool& pool, std::int64_t sequence);
  SequenceReplacement(const SequenceReplacement&) = delete;
  SequenceReplacement& operator=(const SequenceReplacement&) = delete;
  ~SequenceReplacement();

  /// Gives the sequence these tokens, of which the rows of the first `cached` are known. Whole
  /// blocks that the pool knows are shared. InvalidArgument if there is no room. To be called once.
  /// The pool's pending copies are to be made before rows are written.
  Status set_tokens(std::span<const std::int32_t> tokens, std::int64_t cached);
  /// The known rows that its blocks lack once the copies are made.
  std::span<const MissingRows> missing() const { return missing_; }
  /// These rows have been written.
  void commit();

 private:
  BlockPool& pool_;
  BlockPool before_;
  std::int64_t sequence_;
  std::int64_t cached_ = 0;
  std::vector<MissingRows> missing_;
  std::vector<BlockCopy> copies_;
  bool committed_ = false;
};

}  // namespace shunt
