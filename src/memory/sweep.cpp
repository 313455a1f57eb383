#include "memory/sweep.h"

#include <map>
#include <numeric>
#include <set>

namespace shunt {

namespace {

/// Free ranges by address and by size. A range never reaches over the end of a block.
class FreeRanges {
 public:
  explicit FreeRanges(const MemoryProblem& problem) : problem_(problem) {}

  MemoryAddress take(const MemoryItem& item) {
    // The hole at the end of a block may be larger than the largest block: look on.
    for (auto hole = by_size_.lower_bound({item.rounded, 0}); hole != by_size_.end(); ++hole) {
      const auto [bytes, address] = *hole;
      if (problem_.inside_block(address, item) != address) continue;
      remove(address, bytes);
      if (bytes > item.rounded) insert(address + item.rounded, bytes - item.rounded);
      return address;
    }
    return extend(item);
  }

  void give_back(MemoryAddress address, std::uint64_t bytes) {
    const auto next = by_address_.lower_bound(address);
    if (next != by_address_.end() && next->first == address + bytes &&
        next->first % problem_.stride != 0) {
      const std::uint64_t more = next->second;
      remove(address + bytes, more);
      bytes += more;
    }
    const auto after = by_address_.lower_bound(address);
    if (after != by_address_.begin() && address % problem_.stride != 0) {
      const auto [before, length] = *std::prev(after);
      if (before + length == address) {
        remove(before, length);
        address = before;
        bytes += length;
      }
    }
    insert(address, bytes);
  }

 private:
  /// Grows beyond all that has been in use so far, from the hole at its end if there is one.
  MemoryAddress extend(const MemoryItem& item) {
    MemoryAddress from = end_;
    if (!by_address_.empty() && end_ % problem_.stride != 0) {
      const auto [last, length] = *by_address_.rbegin();
      if (last + length == end_) from = last;
    }
    const MemoryAddress at = problem_.inside_block(from, item);
    if (at == from) {
      if (from != end_) remove(from, end_ - from);
    } else if (at > end_) {
      give_back(end_, at - end_);  // the rest of a block
    }
    end_ = std::max(end_, at + item.rounded);
    return at;
  }

  void insert(MemoryAddress address, std::uint64_t bytes) {
    by_address_.emplace(address, bytes);
    by_size_.emplace(bytes, address);
  }
  void remove(MemoryAddress address, std::uint64_t bytes) {
    by_address_.erase(address);
    by_size_.erase({bytes, address});
  }

  const MemoryProblem& problem_;
  MemoryAddress end_ = 0;
  std::map<MemoryAddress, std::uint64_t> by_address_;
  std::set<std::pair<std::uint64_t, MemoryAddress>> by_size_;
};

}  // namespace

MemoryAttempt sweep_memory(const MemoryProblem& problem, SweepDirection direction) {
  const bool forward = direction == SweepDirection::kForward;
  const auto comes = [&](std::size_t i) {
    return forward ? problem.items[i].first : -problem.items[i].last;
  };
  const auto goes = [&](std::size_t i) {
    return forward ? problem.items[i].last : -problem.items[i].first;
  };
  std::vector<std::size_t> coming(problem.items.size());
  std::iota(coming.begin(), coming.end(), std::size_t{0});
  std::vector<std::size_t> going = coming;
  // Of those who come together the largest first.
  std::sort(coming.begin(), coming.end(), [&](std::size_t a, std::size_t b) {
    if (comes(a) != comes(b)) return comes(a) < comes(b);
    if (problem.items[a].rounded != problem.items[b].rounded)
      return problem.items[a].rounded > problem.items[b].rounded;
    return a < b;
  });
  std::sort(going.begin(), going.end(), [&](std::size_t a, std::size_t b) {
    return goes(a) != goes(b) ? goes(a) < goes(b) : a < b;
  });

  MemoryAttempt attempt;
  attempt.addresses.resize(problem.items.size());
  FreeRanges free(problem);
  std::size_t gone = 0;
  for (std::size_t i : coming) {
    for (; goes(going[gone]) < comes(i); ++gone)
      free.give_back(attempt.addresses[going[gone]], problem.items[going[gone]].rounded);
    attempt.addresses[i] = free.take(problem.items[i]);
  }
  const auto sizes = block_sizes(problem, attempt.addresses);
  attempt.total = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  return attempt;
}

}  // namespace shunt
