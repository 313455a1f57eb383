// A table from pairs of numbers, open addressing: what two neighbours become costs one look at
// memory in most cases.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shunt::text {

/// The symbol that two symbols become, and how early: the lowest rank first.
struct Merge {
  std::uint32_t rank = 0;
  std::int32_t id = -1;
};

class PairTable {
 public:
  /// Makes room for so many pairs; without it there is room for none.
  void reserve(std::size_t pairs) {
    slots_.assign(std::bit_ceil(2 * pairs + 2), Slot());
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(slots_.size()));
  }
  /// The first merge of a pair stays.
  void insert(std::uint32_t left, std::uint32_t right, Merge merge) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& slot = slot_of(key_of(left, right));
    if (slot.key != kEmpty) return;
    slot = {key_of(left, right), merge};
    ++size_;
  }
  /// Null if there is none.
  const Merge* find(std::uint32_t left, std::uint32_t right) const {
    const Slot& slot = const_cast<PairTable*>(this)->slot_of(key_of(left, right));
    return slot.key == kEmpty ? nullptr : &slot.merge;
  }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key = kEmpty;
    Merge merge;
  };

  static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) {
    return std::uint64_t{left} << 32 | right;
  }
  /// The finaliser of splitmix64.
  static std::uint64_t mix(std::uint64_t key) {
    key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9u;
    key = (key ^ key >> 27) * 0x94D049BB133111EBu;
    return key ^ key >> 31;
  }
  Slot& slot_of(std::uint64_t key) {
    std::size_t at = mix(key) >> shift_;
    while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  void grow() {
    std::vector<Slot> before = std::move(slots_);
    reserve(before.size());
    for (const Slot& slot : before) {
      if (slot.key != kEmpty) slot_of(slot.key) = slot;
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(2);
  unsigned shift_ = 63;
  std::size_t size_ = 0;
};

}  // namespace shunt::text
