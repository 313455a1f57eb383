#include "engine/load/cache_rows.h"

#include <algorithm>
#include <functional>

#include "base/ceil_div.h"
#include "base/to_size.h"

namespace shunt {

/// The most blocks are begun where all sequences but one have a single token.
std::int64_t CacheRows::needed(std::int64_t context, std::int64_t sequences) {
  if (sequences == 1) return context;
  const std::int64_t short_ones = std::min(sequences, context) - 1;
  return (short_ones + ceil_div(context - short_ones, kBlock)) * kBlock;
}

void CacheRows::resize(std::int64_t sequence, std::int64_t length) {
  auto& blocks = sequences_[sequence];
  const auto count = to_size(ceil_div(length, kBlock));
  while (blocks.size() > count) {
    free_.push_back(blocks.back());
    std::ranges::push_heap(free_, std::greater());
    blocks.pop_back();
  }
  blocks.reserve(count);
  while (blocks.size() < count) {
    if (free_.empty()) {
      // Giving back must not fail.
      const auto given = to_size(next_ + 1);
      if (free_.capacity() < given) free_.reserve(2 * given);
      blocks.push_back(next_++);
    } else {
      std::ranges::pop_heap(free_, std::greater());
      blocks.push_back(free_.back());
      free_.pop_back();
    }
  }
}

}  // namespace shunt
