#include "cuda/machine/groups.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "cuda/machine/barriers.h"
#include "cuda/machine/block.h"
#include "cuda/machine/calls.h"

namespace cuda_twin {
namespace {

bool can_join(const Group& a, const Group& b) {
  // They wait at one instruction for other lanes.
  if (a.members != 0 && b.members != 0 && a.members != b.members) return false;
  return a.op == b.op && a.frame == b.frame && a.state != Group::State::kBarrier &&
         b.state != Group::State::kBarrier && !a.forced && !b.forced && !a.released && !b.released;
}

/// Group `from` becomes a part of `into`, which runs its op anew if it waited there.
void join(Warp& warp, Group& into, std::uint32_t from) {
  Group& other = warp.groups[from];
  into.lanes |= other.lanes;
  into.turn = std::max(into.turn, other.turn);
  into.state = Group::State::kReady;
  into.members = 0;
  other = warp.groups[--warp.group_count];
}

void add_group(Warp& warp, const Group& group) {
  for (std::uint32_t i = 1; i < warp.group_count; ++i) {
    Group& other = warp.groups[i];
    if (!can_join(other, group)) continue;
    other.lanes |= group.lanes;
    other.state = Group::State::kReady;
    other.members = 0;
    return;
  }
  warp.groups[warp.group_count++] = group;
}

/// Splits `lanes` off the running group, whose other lanes go on after the op that runs.
Group split(Warp& warp, LaneMask lanes) {
  Group& running = warp.groups[0];
  Group part = running;
  part.lanes = lanes;
  part.forced = part.released = part.aligned = false;
  part.members = 0;
  running.lanes &= ~lanes;
  running.op = warp.op + 1;
  running.forced = running.released = running.aligned = false;
  warp.reschedule = true;
  return part;
}

bool runs_before(const Warp& warp, const Group& a, const Group& b) {
  if (a.turn != b.turn) return a.turn < b.turn;
  const std::uint32_t depth_a = warp.frames[a.frame].depth, depth_b = warp.frames[b.frame].depth;
  return depth_a != depth_b ? depth_a > depth_b : a.op < b.op;
}

void absorb(Warp& warp, Group& group, std::uint32_t first) {
  for (std::uint32_t i = first; i < warp.group_count;) {
    if (can_join(group, warp.groups[i])) {
      join(warp, group, i);
    } else {
      ++i;
    }
  }
}

void make_current(Warp& warp, std::uint32_t frame_index) {
  const Frame& frame = warp.frames[frame_index];
  warp.banks[static_cast<unsigned>(Bank::kRegisters)] = frame.registers;
  warp.predicates = frame.predicates;
  warp.local_base = frame.local_base;
}

std::uint32_t next_meeting(const Warp& warp) {
  const Group& running = warp.groups[0];
  std::uint32_t meet = kNoOp;
  for (std::uint32_t i = 1; i < warp.group_count; ++i) {
    const Group& other = warp.groups[i];
    if (other.frame == running.frame && other.op > running.op && other.op < meet &&
        other.state != Group::State::kBarrier && !other.forced && !other.released) {
      meet = other.op;
    }
  }
  return meet;
}

}  // namespace

Next send(Warp& warp, LaneMask lanes, std::uint32_t op, std::uint32_t frame) {
  Group part = split(warp, lanes);
  part.op = op;
  part.frame = frame;
  if (warp.groups[0].lanes == 0) {
    warp.groups[0] = part;
  } else {
    add_group(warp, part);
  }
  return Next::kSwitch;
}

Group& hold(Warp& warp, LaneMask lanes, Group::State state) {
  Group part = split(warp, lanes);
  part.op = warp.op;
  part.state = state;
  Group& held = warp.groups[0].lanes == 0 ? warp.groups[0] : warp.groups[warp.group_count++];
  held = part;
  return held;
}

Next end_lanes(Warp& warp, LaneMask lanes) {
  split(warp, lanes);
  warp.exited |= lanes;
  for (std::uint32_t i = 0; i < warp.frames.size(); ++i) leave_frame(warp, i, lanes);
  for (std::uint32_t i = 0; i < warp.group_count; ++i) {
    Group& group = warp.groups[i];
    if (group.state != Group::State::kSync) continue;
    group.state = Group::State::kReady;
    group.members = 0;
  }
  warp.block->alive -= static_cast<std::uint32_t>(std::popcount(lanes));
  complete_barriers(*warp.block);
  return Next::kSwitch;
}

bool choose(Warp& warp) {
  warp.reschedule = false;
  if (warp.group_count != 0 && warp.groups[0].lanes == 0) {
    warp.groups[0] = warp.groups[--warp.group_count];
  }
  if (warp.group_count == 0) return false;
  absorb(warp, warp.groups[0], 1);
  std::uint32_t best = kNoOp;
  for (std::uint32_t i = 0; i < warp.group_count; ++i) {
    if (warp.groups[i].state != Group::State::kReady) continue;
    if (best == kNoOp || runs_before(warp, warp.groups[i], warp.groups[best])) best = i;
  }
  if (best == kNoOp) return false;
  if (best != 0) std::swap(warp.groups[0], warp.groups[best]);
  make_current(warp, warp.groups[0].frame);
  warp.meet = next_meeting(warp);
  return true;
}

void join_groups(Warp& warp) {
  for (std::uint32_t i = 0; i < warp.group_count; ++i) absorb(warp, warp.groups[i], i + 1);
}

bool has_ready_group(const Warp& warp) {
  for (std::uint32_t i = 0; i < warp.group_count; ++i) {
    if (warp.groups[i].state == Group::State::kReady && warp.groups[i].lanes != 0) return true;
  }
  return false;
}

bool gather_aligned(Warp& warp, LaneMask active) {
  if (active == warp.lanes) return true;
  if (warp.groups[0].forced) {
    warp.groups[0].forced = false;
    return true;
  }
  if (active == warp.alive()) {
    if (!warp.block->launch->checks.warp) return true;
    const auto lane = static_cast<unsigned>(std::countr_zero(active));
    return report(warp, "aligned", lane,
                  "an .aligned instruction, while lanes " + lanes_text(warp.exited) +
                      " of its warp have ended") == Next::kOn;
  }
  hold(warp, active, Group::State::kSync).aligned = true;
  return false;
}

}  // namespace cuda_twin
