// For instructions of other families that read or write shared memory (ldmatrix, stmatrix).
#pragma once

#include <cstring>

#include "cuda/instructions/level.h"
#include "cuda/memory/access.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// Reads `bytes` (a power of two) of shared memory for a lane, all checks done. False if the kernel
/// ends: the handler returns Next::kSwitch.
inline bool load_shared(Warp& warp, unsigned lane, std::uint32_t address, unsigned bytes,
                        void* to) {
  Spot spot;
  if (!locate_and_check(warp, lane, ptx::Space::kShared, address, bytes, kRead, spot)) return false;
  std::memcpy(to, spot.data, bytes);
  return true;
}

inline bool store_shared(Warp& warp, unsigned lane, std::uint32_t address, unsigned bytes,
                         const void* from) {
  Spot spot;
  if (!locate_and_check(warp, lane, ptx::Space::kShared, address, bytes, kWrite, spot)) {
    return false;
  }
  std::memcpy(spot.data, from, bytes);
  return true;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
