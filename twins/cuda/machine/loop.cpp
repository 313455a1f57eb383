#include "cuda/machine/loop.h"

#include <algorithm>
#include <bit>

#include "cuda/machine/block.h"
#include "cuda/machine/groups.h"

namespace cuda_twin {
namespace {

/// An atomic takes as much of the quantum as this many instructions more: the lanes may spin on a
/// lock, until those that hold it have their turn.
constexpr std::uint64_t kAtomicWeight = 15;

inline LaneMask active_lanes(const Warp& warp, const Op& op, LaneMask lanes) {
  if (op.guard == Op::kNoGuard) return lanes;
  const LaneMask bits = warp.predicates[op.guard];
  return lanes & (op.guard_flip ? ~bits : bits);
}

inline std::uint64_t lanes_in(LaneMask active) {
  return active == kAllLanes ? kLanes : static_cast<std::uint64_t>(std::popcount(active));
}

/// Groups that share the warp with one that used its quantum go first now.
void end_turn(Warp& warp) {
  if (warp.group_count == 0) return;
  if (warp.group_count > 1) ++warp.groups[0].turn;
  warp.waits = warp.yield && warp.polls.wait();
  warp.yield = false;
}

}  // namespace

std::uint64_t run_warp(Warp& warp, std::uint64_t quantum) {
  warp.waits = false;
  if (!choose(warp)) return 0;
  Block& block = *warp.block;
  const Op* const ops = block.launch->program->ops.data();
  LaunchCounts& counts = block.counts;
  const std::uint64_t first = warp.instructions;
  std::uint64_t last = first + quantum;
  std::uint32_t at = warp.groups[0].op;
  LaneMask lanes = warp.groups[0].lanes;
  while (warp.instructions < last) {
    const Op& op = ops[at];
    const LaneMask active = active_lanes(warp, op, lanes);
    ++warp.instructions;
    ++counts.instructions[static_cast<unsigned>(op.kind)];
    if (active != 0) {
      counts.lane_instructions += lanes_in(active);
      warp.op = at;
      if (op.kind == OpKind::kAtomic) last -= std::min(kAtomicWeight, last - warp.instructions);
      if (op.run(warp, op, active) == Next::kSwitch) {
        if (warp.reschedule || warp.group_count > 1) {
          if (block.failed || warp.yield || !choose(warp)) {
            end_turn(warp);
            return warp.instructions - first;
          }
          lanes = warp.groups[0].lanes;
        }
        at = warp.groups[0].op;
        continue;
      }
    }
    ++at;
    if (at == warp.meet) {
      warp.groups[0].op = at;
      choose(warp);
      at = warp.groups[0].op;
      lanes = warp.groups[0].lanes;
    }
  }
  warp.groups[0].op = at;
  end_turn(warp);
  return warp.instructions - first;
}

}  // namespace cuda_twin
