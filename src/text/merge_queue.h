// Places to merge at, the lowest rank first, and of one rank the leftmost. Places are kept by rank,
// where they mostly come in order already: the queue takes linear time for long words, in which few
// pairs come again and again, and needs 4 bytes a place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace shunt::text {

class MergeQueue {
 public:
  struct Place {
    std::uint32_t rank = 0;
    std::uint32_t left = 0;
  };

  bool empty() const { return heap_.empty(); }

  void push(Place place) {
    Bucket& bucket = buckets_[place.rank];
    if (bucket.opened) {
      bucket.late.push_back(place.left);
      std::ranges::push_heap(bucket.late, std::greater<>());
    } else {
      bucket.places.push_back(place.left);
    }
    if (bucket.queued) return;
    bucket.queued = true;
    heap_.push_back({place.rank, &bucket});
    std::ranges::push_heap(heap_, later);
  }

  /// The first place, which is taken away. The queue must not be empty.
  Place pop() {
    const auto [rank, bucket] = heap_.front();
    const Place place = {rank, bucket->pop()};
    if (bucket->empty()) {
      std::ranges::pop_heap(heap_, later);
      heap_.pop_back();
      buckets_.erase(rank);
    }
    return place;
  }

 private:
  /// The places of one rank.
  struct Bucket {
    std::vector<std::uint32_t> places;  ///< sorted once it is opened
    std::size_t next = 0;               ///< of these
    std::vector<std::uint32_t> late;    ///< a heap of those that came after that
    bool opened = false;
    bool queued = false;

    bool empty() const { return next == places.size() && late.empty(); }
    std::uint32_t pop() {
      if (!opened && !std::ranges::is_sorted(places)) std::ranges::sort(places);
      opened = true;
      if (late.empty() || (next < places.size() && places[next] < late.front())) {
        return places[next++];
      }
      std::ranges::pop_heap(late, std::greater<>());
      const std::uint32_t place = late.back();
      late.pop_back();
      return place;
    }
  };
  struct Entry {
    std::uint32_t rank = 0;
    Bucket* bucket = nullptr;  ///< stays where it is while others come
  };
  static bool later(const Entry& a, const Entry& b) { return a.rank > b.rank; }

  std::unordered_map<std::uint32_t, Bucket> buckets_;
  std::vector<Entry> heap_;
};

}  // namespace shunt::text
