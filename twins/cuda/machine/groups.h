// Groups of lanes: how they split, meet and wait.
#pragma once

#include <bit>
#include "cuda/machine/warp.h"

namespace cuda_twin {

/// Of a mask that is not 0.
inline unsigned first_lane(LaneMask lanes) {
  return static_cast<unsigned>(std::countr_zero(lanes));
}

/// No op: of Warp::meet where no group is ahead.
inline constexpr std::uint32_t kNoOp = 0xFFFFFFFFu;

/// The running group's `lanes` go to `op` of `frame`; its other lanes go on after the op that runs.
/// Returns Next::kSwitch.
Next send(Warp& warp, LaneMask lanes, std::uint32_t op, std::uint32_t frame);

/// `lanes` of the running group end; its other lanes go on after the op that runs.
Next end_lanes(Warp& warp, LaneMask lanes);

/// `lanes` of the running group stay at the op that runs, in this state; its other lanes go on. The
/// handler returns Next::kSwitch.
Group& hold(Warp& warp, LaneMask lanes, Group::State state);

/// Chooses the group that runs next and makes its frame the current one. False if none can run.
bool choose(Warp& warp);

/// Groups that stand at the same place become one, after some were released.
void join_groups(Warp& warp);

bool has_ready_group(const Warp& warp);

}  // namespace cuda_twin
