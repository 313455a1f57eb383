// Memory hazards: which accesses must wait for which, by the ranges that they read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shunt {

/// Bytes that an access reads or writes. Those of memory that each step in flight has for itself
/// never meet those of another step.
struct Region {
  const void* buffer = nullptr;  ///< null: `begin` and `end` are host addresses
  std::size_t begin = 0;
  std::size_t end = 0;
  bool own = false;  ///< of one step in flight

  bool overlaps(const Region& other) const {
    return buffer == other.buffer && begin < other.end && other.begin < end;
  }
};

/// The regions that an access touches, and the queue that it goes through. Two accesses conflict if
/// they touch the same bytes and one of the two writes them.
struct Footprint {
  int stream = 0;
  std::vector<Region> reads;
  std::vector<Region> writes;
};

/// Finds conflicts in a list of accesses that is known in advance. The time of a query grows with
/// the logarithm of the number of regions.
class MemoryHazards {
 public:
  enum class Of { kAll, kShared };  ///< kShared: without regions of one step in flight

  explicit MemoryHazards(std::span<const Footprint> accesses, Of of = Of::kAll);
  MemoryHazards(const MemoryHazards&) = delete;
  MemoryHazards& operator=(const MemoryHazards&) = delete;
  ~MemoryHazards();

  /// Records an access; call it in order.
  void add(std::size_t access);
  /// Of the accesses that were added, the last of each queue that conflicts with this one; by
  /// falling index.
  std::vector<std::size_t> last_conflicts(std::size_t access) const;

 private:
  /// Ranges of a buffer's bytes, by number: those between two neighbours of the bounds that regions
  /// have there.
  struct Ranges {
    std::size_t begin = 0;
    std::size_t end = 0;

    bool covers(const Ranges& other) const { return begin <= other.begin && other.end <= end; }
    bool overlaps(const Ranges& other) const { return begin < other.end && other.begin < end; }
  };
  class LastTouches;
  struct Touch {
    std::size_t buffer = 0;
    Ranges ranges;
    bool writes = false;
  };
  struct BufferTouches;
  static void merge(std::vector<Touch>& touches);

  std::vector<int> streams_;                 // distinct, sorted
  std::vector<std::size_t> stream_of_;       // by access: index of its stream
  std::vector<std::vector<Touch>> touches_;  // by access
  std::vector<BufferTouches> buffers_;
};

}  // namespace shunt
