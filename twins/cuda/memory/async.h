// Copies that cp.async has begun. Their data are kept here until the thread waits for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "cuda/program/op.h"

namespace cuda_twin {

/// Of the lanes of one instruction.
struct AsyncCopy {
  LaneMask lanes = 0;  ///< that have not waited for it
  unsigned bytes = 0;
  std::array<std::uint32_t, kLanes> group{};  ///< number of the lane's group, from 0
  std::uint64_t to[kLanes] = {};              ///< shared addresses
  alignas(16) std::array<std::array<std::byte, 16>, kLanes> data{};
};

/// Of one warp.
struct AsyncCopies {
  std::deque<AsyncCopy> pending;
  std::array<std::uint32_t, kLanes> committed{};  ///< groups of each lane
};

}  // namespace cuda_twin
