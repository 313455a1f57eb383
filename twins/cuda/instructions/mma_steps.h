// Steps that all handlers of mma share.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda/instructions/level.h"
#include "cuda/instructions/sums.h"
#include "cuda/machine/block.h"
#include "cuda/races/races.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// All lanes are there. False if the warp must run others first, or the kernel ends.
inline bool arrive_in_order(Warp& warp, LaneMask active) {
  if (active != kAllLanes && !gather_aligned(warp, active)) return false;
  if (warp.block->shared_races != nullptr) races::on_warp_sync(warp, active);
  return true;
}

/// d = a b + d, in the way of CUDA_TWIN_MMA_SUM.
inline void sum_products(const Warp& warp, const Product& product) {
  switch (warp.block->launch->sum) {
    case Sum::kDouble:
      return sum_double(product);
    case Sum::kTruncated:
      return sum_truncated(product);
    default:
      return sum_single(product);
  }
}

inline std::uint32_t float_result_bits(float value) {
  constexpr std::uint32_t kNan = 0x7FFFFFFF;
  return value == value ? std::bit_cast<std::uint32_t>(value) : kNan;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
