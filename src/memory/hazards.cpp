#include "memory/hazards.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

namespace shunt {

namespace {

template <class T>
std::size_t index_of(const std::vector<T>& sorted, const T& value) {
  return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), value) -
                                  sorted.begin());
}

template <class T>
void sort_without_repeats(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

bool can_conflict(const Region& region, MemoryHazards::Of of) {
  return region.begin < region.end && (of == MemoryHazards::Of::kAll || !region.own);
}

/// By buffer: where its regions begin and end.
using HazardBounds = std::map<const void*, std::vector<std::size_t>>;

/// The buffers that an access writes, without bounds.
HazardBounds written_buffers(std::span<const Footprint> accesses, MemoryHazards::Of of) {
  HazardBounds written;
  for (const Footprint& access : accesses) {
    for (const Region& region : access.writes) {
      if (can_conflict(region, of)) written[region.buffer];
    }
  }
  return written;
}

/// Calls visit(region, writes, bounds) for each region of an access that is in one of these
/// buffers.
template <class Visit>
void for_each_region(const Footprint& access, MemoryHazards::Of of, HazardBounds& buffers,
                     Visit&& visit) {
  for (const bool writes : {false, true}) {
    for (const Region& region : writes ? access.writes : access.reads) {
      const auto found = buffers.find(region.buffer);
      if (can_conflict(region, of) && found != buffers.end()) visit(region, writes, found->second);
    }
  }
}

}  // namespace

/// For each byte of a buffer the last access of each stream that touched it: a segment tree.
/// Accesses are numbered from 1 and recorded in order, so the latest number is the largest.
class MemoryHazards::LastTouches {
 public:
  LastTouches(std::size_t ranges, std::size_t streams)
      : all_{0, ranges},
        streams_(streams),
        covering_(tree_nodes(ranges) * streams, 0),
        inside_(covering_) {}

  void note(Ranges touched, std::size_t stream, std::uint32_t access) {
    note(touched, stream, access, 0, all_);
  }
  /// Raises each stream's number in `last` to that of its last access in these ranges.
  void find(Ranges touched, std::span<std::uint32_t> last) const { find(touched, last, 0, all_); }

 private:
  static std::size_t tree_nodes(std::size_t ranges) {
    std::size_t leaves = 1;
    while (leaves < ranges) leaves *= 2;
    return 2 * leaves - 1;
  }
  static Ranges half(Ranges of, bool second) {
    const std::size_t middle = of.begin + (of.end - of.begin + 1) / 2;
    return second ? Ranges{middle, of.end} : Ranges{of.begin, middle};
  }

  void note(Ranges touched, std::size_t stream, std::uint32_t access, std::size_t node, Ranges of) {
    inside_[node * streams_ + stream] = access;
    if (touched.covers(of)) {
      covering_[node * streams_ + stream] = access;
      return;
    }
    for (const bool second : {false, true}) {
      if (!touched.overlaps(half(of, second))) continue;
      note(touched, stream, access, 2 * node + (second ? 2 : 1), half(of, second));
    }
  }

  void find(Ranges touched, std::span<std::uint32_t> last, std::size_t node, Ranges of) const {
    const bool covered = touched.covers(of);
    const auto& here = covered ? inside_ : covering_;
    for (std::size_t i = 0; i < streams_; ++i) {
      last[i] = std::max(last[i], here[node * streams_ + i]);
    }
    if (covered) return;
    for (const bool second : {false, true}) {
      if (!touched.overlaps(half(of, second))) continue;
      find(touched, last, 2 * node + (second ? 2 : 1), half(of, second));
    }
  }

  Ranges all_;
  std::size_t streams_;
  // [node of the tree][stream]
  std::vector<std::uint32_t> covering_;  // the last that touched all of the node's ranges
  std::vector<std::uint32_t> inside_;    // the last that touched some of them
};

struct MemoryHazards::BufferTouches {
  LastTouches written;
  LastTouches read;
};

// Bytes that no access writes are left out: there the order of accesses does not matter.
MemoryHazards::MemoryHazards(std::span<const Footprint> accesses, Of of)
    : touches_(accesses.size()) {
  for (const Footprint& access : accesses) streams_.push_back(access.stream);
  sort_without_repeats(streams_);
  for (const Footprint& access : accesses) stream_of_.push_back(index_of(streams_, access.stream));

  HazardBounds bounds = written_buffers(accesses, of);
  for (const Footprint& access : accesses) {
    for_each_region(access, of, bounds, [](const Region& region, bool, auto& of_buffer) {
      of_buffer.push_back(region.begin);
      of_buffer.push_back(region.end);
    });
  }
  std::map<const void*, std::size_t> numbers;
  for (auto& [buffer, of_buffer] : bounds) {
    sort_without_repeats(of_buffer);
    numbers[buffer] = buffers_.size();
    const LastTouches none(of_buffer.size() - 1, streams_.size());
    buffers_.push_back({none, none});
  }
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    for_each_region(accesses[i], of, bounds,
                    [&](const Region& region, bool writes, const auto& of_buffer) {
                      touches_[i].push_back(
                          {numbers[region.buffer],
                           {index_of(of_buffer, region.begin), index_of(of_buffer, region.end)},
                           writes});
                    });
    merge(touches_[i]);
  }
}

MemoryHazards::~MemoryHazards() = default;

void MemoryHazards::add(std::size_t access) {
  const auto number = static_cast<std::uint32_t>(access + 1);
  for (const Touch& touch : touches_[access]) {
    BufferTouches& buffer = buffers_[touch.buffer];
    (touch.writes ? buffer.written : buffer.read).note(touch.ranges, stream_of_[access], number);
  }
}

std::vector<std::size_t> MemoryHazards::last_conflicts(std::size_t access) const {
  std::vector<std::uint32_t> last(streams_.size(), 0);
  for (const Touch& touch : touches_[access]) {
    const BufferTouches& buffer = buffers_[touch.buffer];
    buffer.written.find(touch.ranges, last);
    if (touch.writes) buffer.read.find(touch.ranges, last);
  }
  std::vector<std::size_t> found;
  for (const std::uint32_t number : last) {
    if (number > 0) found.push_back(number - 1);
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

/// Makes one of those that meet or follow each other: the nodes of a segment share most memory.
void MemoryHazards::merge(std::vector<Touch>& touches) {
  std::sort(touches.begin(), touches.end(), [](const Touch& a, const Touch& b) {
    return std::tie(a.buffer, a.writes, a.ranges.begin) <
           std::tie(b.buffer, b.writes, b.ranges.begin);
  });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < touches.size(); ++i) {
    Touch& last = touches[kept];
    const Touch& next = touches[i];
    if (next.buffer == last.buffer && next.writes == last.writes &&
        next.ranges.begin <= last.ranges.end) {
      last.ranges.end = std::max(last.ranges.end, next.ranges.end);
    } else {
      touches[++kept] = next;
    }
  }
  if (!touches.empty()) touches.resize(kept + 1);
}

}  // namespace shunt
