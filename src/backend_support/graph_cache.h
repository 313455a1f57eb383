// Captured graphs of a stream: recorded once per binding and dynamic dimensions, then replayed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shunt/device.h"

namespace shunt {

struct GraphKey {
  std::uint64_t binding = 0;  ///< a number that no other binding of the stream ever has
  DynamicDimValues dynamic_dims = {};
  bool operator==(const GraphKey&) const = default;
};

struct GraphCacheCounts {
  std::size_t hits = 0;
  std::size_t misses = 0;
  std::size_t evictions = 0;
};

/// Keeps the graphs that were used last. A hit allocates nothing. An evicted graph may still be
/// executing: where that matters `Captured` is a shared pointer. Belongs to one thread at a time.
template <class Captured>
class GraphCache {
 public:
  /// `capacity`: graphs it holds, at least 1.
  explicit GraphCache(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 1)) {
    entries_.reserve(capacity_);
  }

  /// The graph of a key. If there is none yet, `capture()` captures it and returns a
  /// Result<Captured>. Valid until the next call. An error of `capture` leaves the cache unchanged.
  template <class Capture>
  Result<Captured*> find(const GraphKey& key, const Capture& capture) {
    const auto known = std::ranges::find(entries_, key, &Entry::key);
    if (known != entries_.end()) {
      ++counts_.hits;
      known->used = ++now_;
      return &known->captured;
    }
    ++counts_.misses;
    SHUNT_ASSIGN(Captured captured, capture());
    if (entries_.size() == capacity_) {
      ++counts_.evictions;
      entries_.erase(std::ranges::min_element(entries_, {}, &Entry::used));
    }
    entries_.push_back({key, std::move(captured), ++now_});
    return &entries_.back().captured;
  }

  /// Drops the graph that was used longest ago. False if there is none.
  bool drop_oldest() {
    if (entries_.empty()) return false;
    ++counts_.evictions;
    entries_.erase(std::ranges::min_element(entries_, {}, &Entry::used));
    return true;
  }

  const GraphCacheCounts& counts() const { return counts_; }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    GraphKey key;
    Captured captured;
    std::uint64_t used;  // of now_
  };
  std::size_t capacity_;
  std::vector<Entry> entries_;
  std::uint64_t now_ = 0;
  GraphCacheCounts counts_;
};

}  // namespace shunt
