#include "cuda/machine/meeting.h"

#include <utility>

#include "cuda/machine/block.h"
#include "cuda/machine/groups.h"
#include "cuda/machine/operand_copies.h"
#include "cuda/races/races.h"

namespace cuda_twin {
namespace {

constexpr int kFirstAnywhere = 70;  ///< .target below it: all lanes execute the same instruction

const Op& op_at(const Warp& warp, std::uint32_t index) {
  return warp.block->launch->program->ops[index];
}

/// Same instruction, same qualifiers.
bool is_alike(const Warp& warp, const Op& a, const Op& b) {
  if (warp.block->launch->program->target.sm < kFirstAnywhere) return false;
  return a.run == b.run && a.extra == b.extra;
}

bool waits_for(const Warp& warp, const Group& group, const Op& op, LaneMask members) {
  return group.state == Group::State::kSync && members != 0 && group.members == members &&
         is_alike(warp, op_at(warp, group.op), op);
}

/// `body` for lanes of several groups: the operands of all are brought together, and the results go
/// to the registers of each.
Next run_scattered(Warp& warp, const Op& op, LaneMask lanes, LaneMask members, TogetherBody body) {
  OperandCopies copies(op);
  copies.take(warp, op, warp.groups[0].frame, lanes);
  LaneMask here = lanes;
  for (std::uint32_t i = 1; i < warp.group_count; ++i) {
    const Group& group = warp.groups[i];
    if (!waits_for(warp, group, op, members)) continue;
    copies.take(warp, op_at(warp, group.op), group.frame, group.lanes);
    here |= group.lanes;
  }
  const Next next = copies.run(warp, [&](const Op& copied) {  //
    return body(warp, copied, here, members);
  });
  copies.give(warp, op, warp.groups[0].frame, lanes);
  for (std::uint32_t i = 1; i < warp.group_count; ++i) {
    const Group& group = warp.groups[i];
    if (!waits_for(warp, group, op, members)) continue;
    copies.give(warp, op_at(warp, group.op), group.frame, group.lanes);
  }
  return next;
}

/// All groups that waited go on after their instructions.
Next go_on(Warp& warp, const Op& op, LaneMask members) {
  warp.groups[0].op = warp.op + 1;
  for (std::uint32_t i = 1; i < warp.group_count; ++i) {
    Group& group = warp.groups[i];
    if (!waits_for(warp, group, op, members)) continue;
    group.state = Group::State::kReady;
    group.members = 0;
    ++group.op;
  }
  join_groups(warp);
  warp.reschedule = true;
  return Next::kSwitch;
}

}  // namespace

Next meet(Warp& warp, const Op& op, LaneMask lanes, LaneMask members, TogetherBody body) {
  LaneMask here = lanes;
  for (std::uint32_t i = 1; i < warp.group_count; ++i) {
    if (waits_for(warp, warp.groups[i], op, members)) here |= warp.groups[i].lanes;
  }
  const bool forced = std::exchange(warp.groups[0].forced, false);
  if ((members & warp.alive() & ~here) != 0 && !forced) {
    hold(warp, lanes, Group::State::kSync).members = members;
    return Next::kSwitch;
  }
  if (warp.block->shared_races != nullptr) races::on_warp_sync(warp, here);
  if (here == lanes) return body(warp, op, lanes, members);
  if (run_scattered(warp, op, lanes, members, body) != Next::kOn) return Next::kSwitch;
  return go_on(warp, op, members);
}

LaneMask lanes_waiting_with(const Warp& warp, const Group& group) {
  LaneMask lanes = group.lanes;
  for (std::uint32_t i = 0; i < warp.group_count; ++i) {
    const Group& other = warp.groups[i];
    if (waits_for(warp, other, op_at(warp, group.op), group.members)) lanes |= other.lanes;
  }
  return lanes;
}

}  // namespace cuda_twin
