// Greedy merging of neighbours, the heart of all kinds of BPE: of all pairs of neighbours that may
// merge, the best one does, the leftmost of equals, until none is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/pair_table.h"

namespace shunt::text {

/// Reused, so that short words cost no allocation.
class Merger {
 public:
  void clear() {
    symbols_.clear();
    end_ = 0;
  }
  /// Appends the next stretch of the text.
  void add(std::uint32_t size, std::int32_t id) {
    symbols_.push_back({end_, id, 0, 0});
    end_ += size;
  }

  void run(const PairTable& table) {
    // Looking at all pairs for each merge is faster than a heap where there are few.
    constexpr std::size_t kFew = 48;
    if (symbols_.size() <= kFew) {
      merge_few(table);
    } else {
      merge_many(table);
    }
  }

  /// Calls `visit` with begin, size and id of each symbol that is left, in order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
      const std::uint32_t end = i + 1 < symbols_.size() ? symbols_[i + 1].begin : end_;
      visit(symbols_[i].begin, end - symbols_[i].begin, symbols_[i].id);
    }
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  static constexpr std::int32_t kGone = -2;  ///< the id of a symbol that is a part of another now
  struct Symbol {
    std::uint32_t begin = 0;
    std::int32_t id = -1;
    /// The neighbours by index; of few symbols: the rank of the merge with the next, and its id.
    std::uint32_t previous = kNone;
    std::uint32_t next = kNone;
  };

  void merge_few(const PairTable& table);
  void merge_many(const PairTable& table);
  void rate(std::size_t index, const PairTable& table);
  const Merge* merge_at(std::uint32_t left, const PairTable& table) const;
  void drop_gone();

  std::vector<Symbol> symbols_;
  std::uint32_t end_ = 0;
};

}  // namespace shunt::text
