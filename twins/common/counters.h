// How often something has happened, for tests to read.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace twin {

/// Counters numbered from 0, from any thread. No destructor runs at exit.
template <std::size_t kCount>
class Counters {
 public:
  constexpr Counters() = default;

  /// A counter that does not exist is left out.
  void add(std::size_t which, std::uint64_t amount = 1) {
    if (which < kCount) counts_[which] += amount;
  }
  /// 0 for a counter that does not exist.
  std::uint64_t value(std::size_t which) const {
    return which < kCount ? counts_[which].load() : 0;
  }
  void reset() {
    for (auto& count : counts_) count = 0;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kCount> counts_{};
};

}  // namespace twin
