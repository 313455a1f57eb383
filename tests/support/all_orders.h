// Enumerates every execution order of a TestWorld, by depth-first search over its choices.
#pragma once

#include <cstddef>
#include <vector>

namespace shunt::test {

/// Repeat a deterministic program once per order:
///   AllOrders orders;
///   do {
///     TestWorld world([&](std::size_t ready) { return orders.pick(ready); });
///     ...
///   } while (orders.next());
class AllOrders {
 public:
  /// The choice among `options` in the current order.
  std::size_t pick(std::size_t options) {
    if (depth_ == choices_.size()) choices_.push_back({0, options});
    return choices_[depth_++].taken;
  }
  /// Moves on to the next order. False after the last one.
  bool next() {
    depth_ = 0;
    while (!choices_.empty() && ++choices_.back().taken == choices_.back().options) {
      choices_.pop_back();
    }
    return !choices_.empty();
  }

 private:
  struct Choice {
    std::size_t taken = 0;
    std::size_t options = 1;
  };
  std::vector<Choice> choices_;
  std::size_t depth_ = 0;
};

}  // namespace shunt::test
