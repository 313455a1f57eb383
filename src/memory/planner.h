// Giving tensors their place in memory by lifetime, so that those who never live at the same time
// share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shunt/error.h"

namespace shunt {

/// Something that needs `bytes` from time `first` to time `last`, both included.
struct MemoryRequest {
  std::size_t bytes = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// Where it goes: block and offset in it. Requests of 0 bytes go to block 0 at 0.
struct MemoryPlace {
  std::size_t block = 0;
  std::size_t offset = 0;
};

struct MemoryLayout {
  std::vector<MemoryPlace> places;       ///< by request
  std::vector<std::size_t> block_bytes;  ///< each at most max_block

  std::size_t total() const;  ///< bytes of all blocks
};

/// Tries several orders and keeps the smallest layout. It starts with a sweep over time, and first
/// fit by size, by area, by the fullest moment and so on (Pisarchyk and Lee, "Efficient Memory
/// Management for Deep Neural Net Inference", 2020, section 5). Then it repeats first fit, with the
/// requests that stood out put further to the front. It ends when the layout is within a hundredth
/// of lower_bound(), or enough has been tried. Offsets are multiples of `alignment`. OutOfMemory if
/// one request alone is larger than `max_block`. The same requests give the same layout.
Result<MemoryLayout> plan_memory(std::span<const MemoryRequest> requests, std::size_t alignment,
                                 std::size_t max_block);

/// Largest sum of bytes that live at one time, sizes rounded up to the alignment: no layout is
/// smaller.
std::size_t memory_lower_bound(std::span<const MemoryRequest> requests, std::size_t alignment);

}  // namespace shunt
