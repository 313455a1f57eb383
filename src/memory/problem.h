// Common parts of the ways to lay out memory: requests made ready, and one range of addresses for
// all blocks, one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shunt {

using MemoryAddress = std::uint64_t;

/// A request that needs memory.
struct MemoryItem {
  std::size_t request = 0;    ///< index of the request
  std::uint64_t needed = 0;   ///< bytes
  std::uint64_t rounded = 0;  ///< up to the alignment: the bytes that it keeps from others
  std::int64_t first = 0;
  std::int64_t last = 0;

  bool meets(const MemoryItem& other) const { return first <= other.last && other.first <= last; }
};

/// Block `b` starts at address b * stride, and has `limit` bytes (at most stride). An item never
/// reaches over the end of its block.
struct MemoryProblem {
  std::vector<MemoryItem> items;
  std::uint64_t limit = 0;
  std::uint64_t stride = 0;
  std::uint64_t lower_bound = 0;

  /// The first address from `from` on where an item does not reach over the end of a block.
  MemoryAddress inside_block(MemoryAddress from, const MemoryItem& item) const {
    if (from + item.needed <= limit) return from;  // the first block: mostly there is no other
    const std::uint64_t offset = from % stride;
    return offset + item.needed <= limit ? from : from - offset + stride;
  }
};

/// Addresses by item, and how many bytes that takes in all blocks.
struct MemoryAttempt {
  std::vector<MemoryAddress> addresses;
  std::uint64_t total = 0;
};

/// Bytes of each block up to the end of its last item.
inline std::vector<std::size_t> block_sizes(const MemoryProblem& problem,
                                            std::span<const MemoryAddress> addresses) {
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const auto block = static_cast<std::size_t>(addresses[i] / problem.stride);
    if (block >= sizes.size()) sizes.resize(block + 1, 0);
    const std::uint64_t end = addresses[i] % problem.stride + problem.items[i].rounded;
    sizes[block] = std::max(sizes[block], static_cast<std::size_t>(std::min(end, problem.limit)));
  }
  return sizes;
}

}  // namespace shunt
