#include "cuda/program/liveness.h"

#include <algorithm>
#include <array>

namespace cuda_twin {
namespace {

/// Lists of numbers by key, in one array: of `key` are items[first[key]] to items[first[key + 1]].
struct Lists {
  std::vector<std::uint32_t> first, items;
  Lists(std::size_t keys, std::size_t count) : first(keys + 1, 0), items(count, 0) {}
  /// Both passes call `each(key, item)` for all pairs in the same order.
  template <class Each>
  void fill(const Each& pairs) {
    pairs([&](std::uint32_t key, std::uint32_t) { ++first[key + 1]; });
    for (std::size_t key = 1; key < first.size(); ++key) first[key] += first[key - 1];
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    pairs([&](std::uint32_t key, std::uint32_t item) { items[next[key]++] = item; });
  }
};

/// Basic blocks of instructions and the blocks before each.
class Flow {
 public:
  explicit Flow(const Usage& usage)
      : block_of(usage.instructions, 0),
        before_(split(usage), usage.edges.size() + usage.instructions) {
    std::vector<bool> ends(usage.instructions, false);
    for (const std::uint32_t instruction : usage.ends) ends[instruction] = true;
    before_.fill([&](const auto& add) {
      for (const Usage::Edge& edge : usage.edges) add(block_of[edge.to], block_of[edge.from]);
      for (std::uint32_t block = 1; block < first.size(); ++block) {
        if (!ends[first[block] - 1]) add(block, block - 1);
      }
    });
  }

  std::vector<std::uint32_t> block_of;  ///< each instruction
  std::vector<std::uint32_t> first;     ///< instruction of each block
  std::uint32_t last(std::uint32_t block) const {
    return block + 1 < first.size() ? first[block + 1] - 1
                                    : static_cast<std::uint32_t>(block_of.size()) - 1;
  }
  template <class Each>
  void each_before(std::uint32_t block, const Each& each) const {
    for (std::uint32_t i = before_.first[block]; i < before_.first[block + 1]; ++i) {
      each(before_.items[i]);
    }
  }

 private:
  /// Fills `first` and `block_of`; the number of blocks.
  std::size_t split(const Usage& usage) {
    std::vector<bool> leader(usage.instructions + 1, false);
    leader[0] = true;
    for (const Usage::Edge& edge : usage.edges) leader[edge.to] = leader[edge.from + 1] = true;
    for (const std::uint32_t end : usage.ends) leader[end + 1] = true;
    for (std::uint32_t i = 0; i < usage.instructions; ++i) {
      if (leader[i]) first.push_back(i);
      block_of[i] = static_cast<std::uint32_t>(first.size()) - 1;
    }
    return first.size();
  }

  Lists before_;
};

/// From the first to the last instruction at which a register holds a value.
struct Range {
  std::uint32_t first = 0xFFFFFFFFu, last = 0;
  bool used() const { return first <= last; }
  void cover(std::uint32_t instruction) {
    first = std::min(first, instruction);
    last = std::max(last, instruction);
  }
};

class Ranges {
 public:
  explicit Ranges(const Usage& usage)
      : usage_(usage),
        flow_(usage),
        accesses_(usage.bytes.size(), usage.accesses.size()),
        killed_(flow_.first.size(), kNone),
        live_(flow_.first.size(), kNone) {
    accesses_.fill([&](const auto& add) {
      for (std::uint32_t i = 0; i < usage.accesses.size(); ++i) add(usage.accesses[i].reg, i);
    });
  }

  std::vector<Range> find() {
    std::vector<Range> ranges(usage_.bytes.size());
    for (std::uint32_t reg = 0; reg < ranges.size(); ++reg) {
      exposed_.clear();
      read(reg, ranges[reg]);
      spread(reg, ranges[reg]);
    }
    return ranges;
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  static constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 26;

  /// Blocks that read the register before they write it go to `exposed_`. An instruction reads
  /// before it writes, whatever the order of its accesses.
  void read(std::uint32_t reg, Range& range) {
    std::uint32_t block = kNone;
    std::uint32_t killer = kNone;  // first instruction of the block that always writes it
    for (std::uint32_t i = accesses_.first[reg]; i < accesses_.first[reg + 1]; ++i) {
      const Usage::Access& access = usage_.accesses[accesses_.items[i]];
      range.cover(access.instruction);
      if (flow_.block_of[access.instruction] != block) killer = kNone;
      block = flow_.block_of[access.instruction];
      if (!access.write && access.instruction <= killer) exposed_.push_back(block);
      if (access.write && access.always) {
        killer = std::min(killer, access.instruction);
        killed_[block] = reg;
      }
    }
  }

  /// Backwards from those blocks to the writes.
  void spread(std::uint32_t reg, Range& range) {
    const auto enter = [&](std::uint32_t block) {
      if (live_[block] == reg) return;
      live_[block] = reg;
      open_.push_back(block);
    };
    for (const std::uint32_t block : exposed_) enter(block);
    while (!open_.empty()) {
      const std::uint32_t block = open_.back();
      open_.pop_back();
      range.cover(flow_.first[block]);
      flow_.each_before(block, [&](std::uint32_t before) {
        ++steps_;
        range.cover(flow_.last(before));
        if (killed_[before] != reg) enter(before);
      });
      if (steps_ < kMostSteps) continue;
      // Longer than needed is right, too.
      range.cover(0);
      range.cover(usage_.instructions - 1);
      open_.clear();
    }
  }

  const Usage& usage_;
  Flow flow_;
  Lists accesses_;                            ///< of each register
  std::vector<std::uint32_t> killed_, live_;  ///< by block: the register for which it is so
  std::vector<std::uint32_t> exposed_, open_;
  std::uint64_t steps_ = 0;
};

/// Registers of one size share slots; predicates are a size of their own.
class Pool {
 public:
  std::uint32_t take(std::uint32_t bytes, std::uint32_t& end) {
    if (!free_.empty()) {
      const std::uint32_t slot = free_.back();
      free_.pop_back();
      return slot;
    }
    const std::uint32_t slot = end;
    end += bytes;
    return slot;
  }
  void give(std::uint32_t slot) { free_.push_back(slot); }

 private:
  std::vector<std::uint32_t> free_;
};

}  // namespace

Slots place(const Usage& usage) {
  const std::vector<Range> ranges = Ranges(usage).find();
  Lists begins(usage.instructions, ranges.size());
  Lists ends(usage.instructions, ranges.size());
  const auto each_used = [&](const auto& visit) {
    for (std::uint32_t reg = 0; reg < ranges.size(); ++reg) {
      if (ranges[reg].used()) visit(reg);
    }
  };
  begins.fill(
      [&](const auto& add) { each_used([&](std::uint32_t reg) { add(ranges[reg].first, reg); }); });
  ends.fill(
      [&](const auto& add) { each_used([&](std::uint32_t reg) { add(ranges[reg].last, reg); }); });
  Slots slots;
  slots.offset.assign(ranges.size(), 0);
  std::array<Pool, 17> pools;  // by bytes of a lane
  for (std::uint32_t instruction = 0; instruction < usage.instructions; ++instruction) {
    for (std::uint32_t i = begins.first[instruction]; i < begins.first[instruction + 1]; ++i) {
      const std::uint32_t reg = begins.items[i];
      const std::uint32_t bytes = usage.bytes[reg];
      slots.offset[reg] = bytes == 0 ? pools[0].take(1, slots.predicates)
                                     : pools[bytes].take(bytes * kLanes, slots.register_bytes);
    }
    for (std::uint32_t i = ends.first[instruction]; i < ends.first[instruction + 1]; ++i) {
      pools[usage.bytes[ends.items[i]]].give(slots.offset[ends.items[i]]);
    }
  }
  return slots;
}

}  // namespace cuda_twin
