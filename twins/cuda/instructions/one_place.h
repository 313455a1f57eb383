// Lanes that store to one place of shared memory at once store the same, or have a race.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "cuda/instructions/spots.h"
#include "cuda/machine/block.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// For lanes by their place: a table with open addressing.
class LanesByPlace {
 public:
  LanesByPlace() { std::memset(lanes_, kEmpty, sizeof lanes_); }
  /// The first lane with this place; that is `lane` itself if it is new.
  unsigned first(std::byte* const (&at)[kLanes], unsigned lane) {
    const auto place = reinterpret_cast<std::uintptr_t>(at[lane]);
    for (std::size_t i = place / 4 % kSize;; i = (i + 1) % kSize) {
      if (lanes_[i] == kEmpty) lanes_[i] = static_cast<std::uint8_t>(lane);
      if (at[lanes_[i]] == at[lane]) return lanes_[i];
    }
  }

 private:
  static constexpr std::size_t kSize = 64;
  static constexpr std::uint8_t kEmpty = 0xFF;
  std::uint8_t lanes_[kSize];
};

/// `same(a, b)`: whether two of the active lanes store the same. False if the kernel ends.
template <class Same>
bool stores_agree(Warp& warp, const Spots& spots, LaneMask active, Same same) {
  const Block& block = *warp.block;
  if (block.shared_races == nullptr || spots.count != 0) return true;
  const std::byte* const shared = block.shared.data();
  LanesByPlace places;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const bool inside = spots.at[lane] >= shared && spots.at[lane] < shared + block.shared.size();
    if ((active >> lane & 1) == 0 || !inside) continue;
    const unsigned first = places.first(spots.at, lane);
    if (first == lane || same(first, lane)) continue;
    const std::string text = "lanes " + std::to_string(first) + " and " + std::to_string(lane) +
                             " of warp " + std::to_string(warp.index) +
                             " store different values to one place of shared memory at once";
    return report(warp, "warp race", lane, text) == Next::kOn;
  }
  return true;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
