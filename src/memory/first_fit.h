// Laying out memory item by item, each at the lowest address that is free all its life.
#pragma once

#include <limits>
#include <optional>

#include "memory/problem.h"

namespace shunt {

/// For each item, those that live at the same time as it does some time.
class MemoryNeighbours {
 public:
  /// Nothing if there are more than `most` pairs.
  static std::optional<MemoryNeighbours> find(const MemoryProblem& problem, std::size_t most);
  std::span<const std::uint32_t> of(std::size_t item) const {
    return std::span(list_).subspan(start_[item], start_[item + 1] - start_[item]);
  }

 private:
  std::vector<std::uint32_t> list_;  // one item's after the other's
  std::vector<std::size_t> start_;
};

/// Puts items into memory in an order. Keeps its buffers between runs, so that many orders are
/// cheap.
class FirstFit {
 public:
  FirstFit(const MemoryProblem& problem, const MemoryNeighbours& neighbours)
      : problem_(problem), neighbours_(neighbours) {}

  /// False as soon as an item makes the total reach `bound`; obstacle() is then its position in the
  /// order.
  bool run(std::span<const std::size_t> order, std::uint64_t bound);
  const MemoryAttempt& attempt() const { return attempt_; }
  std::size_t obstacle() const { return obstacle_; }
  /// Neighbours visited so far, in all runs: a measure of time that does not depend on the machine.
  std::size_t work() const { return work_; }

 private:
  static constexpr MemoryAddress kNowhere = std::numeric_limits<MemoryAddress>::max();
  struct Range {
    MemoryAddress begin = 0;
    MemoryAddress end = 0;
  };
  MemoryAddress lowest(std::size_t item);

  const MemoryProblem& problem_;
  const MemoryNeighbours& neighbours_;
  MemoryAttempt attempt_;
  std::vector<Range> taken_;
  std::vector<std::uint64_t> ends_;  // by block
  std::size_t obstacle_ = 0;
  std::size_t work_ = 0;
};

}  // namespace shunt
