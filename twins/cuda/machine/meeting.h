// Instructions with a member mask: the lanes that it names execute them together, wherever in the
// program they are.
#pragma once

#include "cuda/machine/warp.h"

namespace cuda_twin {

/// Executes an instruction for `lanes`, which have the same mask and are all here.
using TogetherBody = Next (*)(Warp& warp, const Op& op, LaneMask lanes, LaneMask members);

/// `lanes` of the running group wait until all members that have not ended are at an instruction
/// with the same qualifiers and the same mask. Then `body` executes it for all of them, with the
/// operands of each lane's own place. Lanes that can never come are a finding "absent-lanes"; if it
/// does not end the launch, `body` executes without them. The handler returns its result.
Next meet(Warp& warp, const Op& op, LaneMask lanes, LaneMask members, TogetherBody body);

/// The lanes of `group`, which waits, and of all groups that wait for the same members with it.
LaneMask lanes_waiting_with(const Warp& warp, const Group& group);

}  // namespace cuda_twin
