// Which rows of the cache each sequence's tokens are kept in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/indexed_vector.h"
#include "base/to_size.h"
#include "model/definition.h"

namespace shunt {

/// A value for each sequence of a session.
template <class T>
using PerSequence = IndexedVector<std::int64_t, T>;

/// Rows are allocated in blocks, the lowest free one first: a step sends a device the rows up to the
/// last that it reads.
class CacheRows {
 public:
  static constexpr std::int64_t kBlock = kCacheBlock;

  /// Rows that a cache must have, so that `context` tokens fit however sequences share them.
  static std::int64_t needed(std::int64_t context, std::int64_t sequences);

  explicit CacheRows(std::int64_t sequences) : sequences_(to_size(sequences)) {}

  /// Gives a sequence rows for `length` tokens, more or fewer than it had. The caller makes sure
  /// that the total is at most the context.
  void resize(std::int64_t sequence, std::int64_t length);
  /// Block i has the rows of tokens from i * kBlock on: from the i-th of these times kBlock on.
  std::span<const std::int64_t> blocks(std::int64_t sequence) const { return sequences_[sequence]; }

 private:
  PerSequence<std::vector<std::int64_t>> sequences_;
  std::vector<std::int64_t> free_;  // a heap, the lowest first; has room for all that are given out
  std::int64_t next_ = 0;           // the lowest that was never given out
};

}  // namespace shunt
