// The memory of blocks of the KV cache that host memory keeps: cache after cache, each with the
// rows of all slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/definition.h"

namespace shunt {

struct HostLayout {
  std::int64_t slots = 0;
  /// Of the rows of a block, by cache in the order of StepGraph::caches; 0 for states.
  std::vector<std::size_t> block_bytes;

  std::size_t slot_bytes() const;
  /// Of all slots.
  std::size_t bytes() const;
  /// Where the rows of a slot begin.
  std::size_t offset(std::size_t cache, std::int64_t slot) const;
};

/// With as many slots as `budget` bytes hold.
HostLayout host_layout(const StepGraph& step, std::uint64_t budget);

}  // namespace shunt
