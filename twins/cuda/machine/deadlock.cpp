#include "cuda/machine/deadlock.h"

#include <bit>
#include <string>

#include "cuda/machine/grid.h"
#include "cuda/machine/groups.h"
#include "cuda/machine/meeting.h"

namespace cuda_twin {
namespace {

constexpr unsigned kMostWarps = 4;  ///< named in an error

/// The group goes on without the lanes that it waits for.
bool force(Warp& warp, Group& group) {
  const LaneMask here = lanes_waiting_with(warp, group);
  const LaneMask expected = group.aligned ? warp.lanes : group.members & warp.alive();
  group.state = Group::State::kReady;
  group.members = 0;
  group.forced = true;
  if (!warp.block->launch->checks.warp) return true;
  warp.op = group.op;
  const char* check = group.aligned ? "aligned" : "absent-lanes";
  return report(warp, check, first_lane(group.lanes),
                "lanes " + lanes_text(here) + " wait here, and lanes " +
                    lanes_text(expected & ~here) + " never come") == Next::kOn;
}

/// False if there is no such group, or if the launch ends.
bool force_one_group(Block& block, bool& found) {
  for (const auto& warp : block.warps) {
    for (std::uint32_t i = 0; i < warp->group_count; ++i) {
      Group& group = warp->groups[i];
      if (group.state != Group::State::kSync) continue;
      found = true;
      return force(*warp, group);
    }
  }
  return false;
}

std::string describe(const Block& block, const Warp& warp) {
  std::string text;
  for (std::uint32_t i = 0; i < warp.group_count; ++i) {
    const Group& group = warp.groups[i];
    text += "; warp " + std::to_string(warp.index) + " lanes " + lanes_text(group.lanes) +
            " wait at " + line_text(*block.launch->program, group.op) + " for barrier " +
            std::to_string(group.barrier);
  }
  if (warp.exited != 0) {
    text += "; warp " + std::to_string(warp.index) + " lanes " + lanes_text(warp.exited) +
            " have ended";
  }
  return text;
}

void fail(Block& block) {
  std::string text = "deadlock: no warp of the block can go on";
  Warp* waiting = nullptr;
  unsigned named = 0;
  for (const auto& warp : block.warps) {
    if (waiting == nullptr && warp->group_count != 0) waiting = warp.get();
    if (named++ < kMostWarps) text += describe(block, *warp);
  }
  if (waiting == nullptr) return;
  waiting->op = waiting->groups[0].op;
  fault(*waiting, 719, first_lane(waiting->groups[0].lanes), std::move(text));
}

}  // namespace

bool break_deadlock(Block& block) {
  bool found = false;
  const bool goes_on = force_one_group(block, found);
  if (!found) fail(block);
  return goes_on && !block.failed;
}

}  // namespace cuda_twin
