#include "memory/first_fit.h"

#include <numeric>

namespace shunt {

std::optional<MemoryNeighbours> MemoryNeighbours::find(const MemoryProblem& problem,
                                                       std::size_t most) {
  const auto& items = problem.items;
  std::vector<std::uint32_t> by_first(items.size());
  std::iota(by_first.begin(), by_first.end(), 0U);
  std::sort(by_first.begin(), by_first.end(), [&](std::uint32_t a, std::uint32_t b) {
    return items[a].first != items[b].first ? items[a].first < items[b].first : a < b;
  });
  // In this order an item meets just those behind it that come before it goes.
  std::vector<std::size_t> until(items.size());
  std::vector<std::size_t> count(items.size() + 1, 0);
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < by_first.size(); ++i) {
    const auto behind = std::upper_bound(
        by_first.begin() + static_cast<std::ptrdiff_t>(i), by_first.end(), items[by_first[i]].last,
        [&](std::int64_t last, std::uint32_t other) { return last < items[other].first; });
    until[i] = static_cast<std::size_t>(behind - by_first.begin());
    pairs += until[i] - i - 1;
    if (pairs > most) return std::nullopt;
  }
  for (std::size_t i = 0; i < by_first.size(); ++i) {
    count[by_first[i]] += until[i] - i - 1;
    for (std::size_t j = i + 1; j < until[i]; ++j) ++count[by_first[j]];
  }
  MemoryNeighbours found;
  found.start_.assign(items.size() + 1, 0);
  std::partial_sum(count.begin(), count.end() - 1, found.start_.begin() + 1);
  found.list_.resize(2 * pairs);
  std::vector<std::size_t> next(found.start_.begin(), found.start_.end() - 1);
  for (std::size_t i = 0; i < by_first.size(); ++i) {
    for (std::size_t j = i + 1; j < until[i]; ++j) {
      found.list_[next[by_first[i]]++] = by_first[j];
      found.list_[next[by_first[j]]++] = by_first[i];
    }
  }
  return found;
}

MemoryAddress FirstFit::lowest(std::size_t item) {
  taken_.clear();
  for (std::uint32_t other : neighbours_.of(item)) {
    const MemoryAddress at = attempt_.addresses[other];
    if (at != kNowhere) taken_.push_back({at, at + problem_.items[other].rounded});
  }
  work_ += neighbours_.of(item).size() + 8;
  std::sort(taken_.begin(), taken_.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  const MemoryItem& self = problem_.items[item];
  MemoryAddress at = 0;
  for (const Range& range : taken_) {
    // A hole may begin in one block and end in another.
    if (range.begin >= at && range.begin - at >= self.rounded) {
      at = problem_.inside_block(at, self);
      if (at + self.rounded <= range.begin) return at;
    }
    at = std::max(at, range.end);
  }
  return problem_.inside_block(at, self);
}

bool FirstFit::run(std::span<const std::size_t> order, std::uint64_t bound) {
  attempt_.addresses.assign(problem_.items.size(), kNowhere);
  attempt_.total = 0;
  ends_.clear();
  for (std::size_t position = 0; position < order.size(); ++position) {
    const std::size_t item = order[position];
    const MemoryAddress at = lowest(item);
    attempt_.addresses[item] = at;
    const auto block = static_cast<std::size_t>(at / problem_.stride);
    if (block >= ends_.size()) ends_.resize(block + 1, 0);
    const std::uint64_t end =
        std::min(at % problem_.stride + problem_.items[item].rounded, problem_.limit);
    if (end > ends_[block]) {
      attempt_.total += end - ends_[block];
      ends_[block] = end;
      if (attempt_.total >= bound) {
        obstacle_ = position;
        return false;
      }
    }
  }
  return true;
}

}  // namespace shunt
