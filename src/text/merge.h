// Greedy merging of neighbours, the heart of both kinds of BPE: of all pairs of neighbours that may
// merge, the best one does, the leftmost of equals, until none is left. O(n log n) in the number of
// symbols: each merge ends two symbols' pairs and begins two.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace shunt::text {

/// A stretch of the text, with neighbours by index.
struct Symbol {
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  std::uint32_t begin = 0;
  std::uint32_t size = 0;  ///< in bytes; 0 once it has been merged into the one before it
  std::int32_t id = -1;
  std::uint32_t previous = kNone;
  std::uint32_t next = kNone;
};

/// The symbol that two symbols become, and how early: the lowest priority first.
struct Merge {
  double priority = 0;
  std::int32_t id = -1;
};

/// Reused, so that short words cost no allocation.
class Merger {
 public:
  void clear() { symbols_.clear(); }
  /// Appends the next stretch of the text.
  void add(std::uint32_t size, std::int32_t id) {
    const auto index = static_cast<std::uint32_t>(symbols_.size());
    Symbol symbol{0, size, id, Symbol::kNone, Symbol::kNone};
    if (index > 0) {
      symbol.begin = symbols_.back().begin + symbols_.back().size;
      symbol.previous = index - 1;
      symbols_.back().next = index;
    }
    symbols_.push_back(symbol);
  }

  /// `find(left, right)` gives std::optional<Merge> for two neighbours.
  template <class Find>
  void run(const Find& find) {
    candidates_.clear();
    for (std::uint32_t i = 1; i < symbols_.size(); ++i) consider(i - 1, i, find);
    std::make_heap(candidates_.begin(), candidates_.end(), Later());
    heaped_ = true;
    while (!candidates_.empty()) {
      std::pop_heap(candidates_.begin(), candidates_.end(), Later());
      const Candidate candidate = candidates_.back();
      candidates_.pop_back();
      if (is_current(candidate)) apply(candidate, find);
    }
    heaped_ = false;
  }

  /// Calls `visit` with each symbol that is left, in order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Symbol& symbol : symbols_) {
      if (symbol.size != 0) visit(symbol);
    }
  }

 private:
  struct Candidate {
    Merge merge;
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::uint32_t size = 0;  ///< of both, when it was found
  };
  struct Later {
    bool operator()(const Candidate& a, const Candidate& b) const {
      if (a.merge.priority != b.merge.priority) return a.merge.priority > b.merge.priority;
      return a.left > b.left;
    }
  };

  /// Symbols only grow or end, so a pair is as it was found exactly if its size is.
  bool is_current(const Candidate& candidate) const {
    const Symbol& left = symbols_[candidate.left];
    const Symbol& right = symbols_[candidate.right];
    return left.size != 0 && right.size != 0 && left.size + right.size == candidate.size;
  }

  template <class Find>
  void consider(std::uint32_t left, std::uint32_t right, const Find& find) {
    if (left == Symbol::kNone || right == Symbol::kNone) return;
    const std::optional<Merge> merge = find(symbols_[left], symbols_[right]);
    if (!merge) return;
    candidates_.push_back({*merge, left, right, symbols_[left].size + symbols_[right].size});
    if (heaped_) std::push_heap(candidates_.begin(), candidates_.end(), Later());
  }

  template <class Find>
  void apply(const Candidate& candidate, const Find& find) {
    Symbol& left = symbols_[candidate.left];
    Symbol& right = symbols_[candidate.right];
    left.size += right.size;
    left.id = candidate.merge.id;
    left.next = right.next;
    right.size = 0;
    if (left.next != Symbol::kNone) symbols_[left.next].previous = candidate.left;
    consider(left.previous, candidate.left, find);
    consider(candidate.left, left.next, find);
  }

  std::vector<Symbol> symbols_;
  std::vector<Candidate> candidates_;
  bool heaped_ = false;
};

}  // namespace shunt::text
