// Instructions with a member mask: all lanes that it names execute them together.
#pragma once

#include <bit>
#include <string>

#include "cuda/instructions/lanes.h"
#include "cuda/machine/block.h"
#include "cuda/machine/groups.h"
#include "cuda/machine/meeting.h"
#include "cuda/races/races.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

[[gnu::always_inline]] inline bool is_uniform(const std::uint32_t* masks, LaneMask active) {
  const std::uint32_t first = masks[first_lane(active)];
  std::uint32_t differs = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    differs |= (masks[i] ^ first) & (0u - (active >> i & 1u));
  }
  return differs == 0;
}

inline Next report_caller(Warp& warp, LaneMask outside, LaneMask members) {
  if (!warp.block->launch->checks.warp) return Next::kOn;
  const unsigned lane = first_lane(outside);
  return report(warp, "mask-without-caller", lane,
                "lane " + std::to_string(lane) + " is not in its member mask, lanes " +
                    (members == 0 ? "none" : lanes_text(members)));
}

/// Lanes that have the same mask execute now if its members are here, and wait if not.
template <TogetherBody kBody>
[[gnu::always_inline]] inline Next run_members(Warp& warp, const Op& op, LaneMask lanes,
                                               LaneMask members) {
  if ((lanes & ~members) != 0 && report_caller(warp, lanes & ~members, members) != Next::kOn) {
    return Next::kSwitch;
  }
  if ((members & warp.alive() & ~lanes) != 0) return meet(warp, op, lanes, members, kBody);
  if (warp.block->shared_races != nullptr) races::on_warp_sync(warp, lanes);
  return kBody(warp, op, lanes, members);
}

/// Lanes have different masks.
template <TogetherBody kBody>
Next run_parts(Warp& warp, const Op& op, LaneMask active, const std::uint32_t* masks) {
  Next next = Next::kOn;
  for (LaneMask rest = active; rest != 0 && !warp.block->failed;) {
    const LaneMask members = masks[first_lane(rest)];
    const LaneMask same = rest & lanes_where([&](unsigned i) { return masks[i] == members; });
    rest &= ~same;
    if (run_members<kBody>(warp, op, same, members) != Next::kOn) next = Next::kSwitch;
  }
  return next;
}

template <TogetherBody kBody>
[[gnu::always_inline]] inline Next together(Warp& warp, const Op& op, LaneMask active,
                                            const Arg& mask) {
  const std::uint32_t* masks = lanes_of<std::uint32_t>(warp, mask);
  if (!is_uniform(masks, active)) return run_parts<kBody>(warp, op, active, masks);
  return run_members<kBody>(warp, op, active, masks[first_lane(active)]);
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
