// The content of blocks that host memory keeps once their blocks of the KV cache are given to
// others. This has their tokens; their rows are in HostRows.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/indexed_vector.h"
#include "base/to_size.h"
#include "model/definition.h"

namespace shunt {

/// A whole block of tokens as it is found.
struct KnownBlock {
  std::uint64_t content = 0;  ///< BlockPool::content()
  std::uint64_t hash = 0;     ///< of the tokens and the parent
  std::uint64_t parent = 0;   ///< id of the block before it; 0: it is a first block
  std::uint64_t id = 0;       ///< of all tokens up to its last one; 0: not whole
  std::string scope = {};     ///< of a first block
  std::array<std::int32_t, kCacheBlock> tokens = {};

  /// Whether these are its tokens, after those of the same parent and in the same scope.
  bool is(std::uint64_t of_parent, std::string_view of_scope,
          std::span<const std::int32_t> of_tokens) const;
};

/// Slots by a number that several of them may have. Adding one needs no memory.
class SlotIndex {
 public:
  explicit SlotIndex(std::int64_t slots)
      : heads_(std::bit_ceil(to_size(slots) + 1), -1), next_(to_size(slots), -1) {}
  void add(std::uint64_t number, std::int64_t slot);
  void remove(std::uint64_t number, std::int64_t slot);
  /// The first slot that was added with such a number and matches; -1: there is none.
  template <class Match>
  std::int64_t find(std::uint64_t number, const Match& match) const {
    std::int64_t slot = heads_[place_of(number)];
    while (slot >= 0 && !match(slot)) slot = next_[slot];
    return slot;
  }

 private:
  std::size_t place_of(std::uint64_t number) const {
    return (number ^ (number >> 32)) & (heads_.size() - 1);
  }
  std::vector<std::int64_t> heads_;  // a power of two of them
  IndexedVector<std::int64_t, std::int64_t> next_;
};

class HostBlocks {
 public:
  /// The place of a slot in the order in which content is given up.
  enum class Order : std::uint8_t {
    kFirst,  ///< the cache of the device has the content, too
    kLast,
  };

  /// Later calls need no memory.
  explicit HostBlocks(std::int64_t slots = 0);

  std::int64_t slot_count() const { return std::ssize(slots_); }
  /// Slots with content.
  std::int64_t used() const { return used_; }
  const KnownBlock& operator[](std::int64_t slot) const { return slots_[slot].block; }

  /// The slot of these tokens; -1: there is none. `scope`: of a first block.
  std::int64_t find(std::uint64_t hash, std::uint64_t parent, std::string_view scope,
                    std::span<const std::int32_t> tokens) const;
  /// The slot of a block's content; -1: there is none.
  std::int64_t find(const KnownBlock& block) const;
  /// The slot of the content with this number; -1: there is none.
  std::int64_t find_content(std::uint64_t content) const;
  /// Whether there is one.
  bool has(std::uint64_t content) const { return find_content(content) >= 0; }

  /// A slot for a block's content, which is pinned; -1: all slots are. Without an empty one the
  /// content of the first slot in the order is given up.
  std::int64_t add(KnownBlock&& block);
  /// The block that a slot has the content of is left again.
  void renew(std::int64_t slot, std::uint64_t content);
  /// The content of a slot that is not pinned is lost.
  void drop(std::int64_t slot);

  /// A pinned slot keeps its content, for copies that are not made yet. Pins are counted.
  void pin(std::int64_t slot);
  /// `order`: of a slot that is not pinned any more.
  void unpin(std::int64_t slot, Order order);

 private:
  struct Slot {
    KnownBlock block = {};
    std::int64_t pins = 0;
    std::int64_t before = -1;  ///< in the list of slots that are not pinned; -1: it is the first
    std::int64_t after = -1;   ///< there, or in the list of empty slots; -1: it is the last
  };

  void clear(std::int64_t slot);
  void insert(std::int64_t slot, Order order);
  void remove(std::int64_t slot);

  IndexedVector<std::int64_t, Slot> slots_;
  SlotIndex by_hash_;
  SlotIndex by_content_;
  std::int64_t empty_ = -1;  // the first one
  std::int64_t first_ = -1;
  std::int64_t last_ = -1;
  std::int64_t used_ = 0;
};

}  // namespace shunt
