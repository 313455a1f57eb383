// Lanes, addresses and values of a strong read in one number (machine/polls.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/instructions/spots.h"
#include "cuda/machine/warp.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

class Fingerprint {
 public:
  explicit Fingerprint(LaneMask lanes) { mix(lanes); }
  void add(const std::byte* at, std::uint64_t value) {
    mix(reinterpret_cast<std::uintptr_t>(at));
    mix(value);
  }
  /// A warp that polls global memory lets others run. The handler returns its result.
  Next finish(Warp& warp, const MemoryExtra& extra) const {
    if (extra.space == ptx::Space::kShared) return Next::kOn;
    warp.polls.add(warp.op, value_, warp.instructions);
    if (!warp.polls.wait()) return Next::kOn;
    warp.groups[0].op = warp.op + 1;
    warp.yield = warp.reschedule = true;
    return Next::kSwitch;
  }

 private:
  void mix(std::uint64_t bits) { value_ = (value_ ^ bits) * 0x9E3779B97F4A7C15u; }

  std::uint64_t value_ = 0;
};

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
