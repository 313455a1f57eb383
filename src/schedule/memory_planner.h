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
};

/// Largest first, each at the lowest offset where nobody lives at the same time (Pisarchyk and Lee,
/// "Efficient Memory Management for Deep Neural Net Inference", 2020, section 5.2). OutOfMemory if
/// one request alone is larger than `max_block`. The same requests give the same layout.
Result<MemoryLayout> plan_memory(std::span<const MemoryRequest> requests, std::size_t alignment,
                                 std::size_t max_block);

}  // namespace shunt
