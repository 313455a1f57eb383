#include "cuda/machine/barriers.h"

#include <bit>
#include <string>

#include "cuda/machine/groups.h"
#include "cuda/races/races.h"

namespace cuda_twin {
namespace {

std::uint32_t count(LaneMask lanes) {
  return static_cast<std::uint32_t>(std::popcount(lanes));
}

/// Lanes that a warp's arrival stands for beyond those that exist and live.
std::uint32_t absent_but_counted(const Block& block, const Barrier& barrier) {
  std::uint32_t sum = 0;
  for (std::uint32_t warps = barrier.warps; warps != 0; warps &= warps - 1) {
    const auto w = static_cast<unsigned>(std::countr_zero(warps));
    if ((block.warps[w]->alive() & ~barrier.lanes[w]) == 0) sum += kLanes - count(barrier.lanes[w]);
  }
  return sum;
}

/// Threads that ended after bar.arrive are counted on both sides.
std::uint32_t living_arrivals(const Block& block, const Barrier& barrier) {
  std::uint32_t sum = 0;
  for (std::uint32_t warps = barrier.warps; warps != 0; warps &= warps - 1) {
    const auto w = static_cast<unsigned>(std::countr_zero(warps));
    sum += count(barrier.lanes[w] & block.warps[w]->alive());
  }
  return sum;
}

bool is_complete(const Block& block, const Barrier& barrier) {
  if (barrier.warps == 0) return false;
  if (barrier.threads == 0) return living_arrivals(block, barrier) == block.alive;
  return barrier.arrived >= barrier.threads ||
         barrier.arrived + absent_but_counted(block, barrier) >= barrier.threads;
}

bool waits_at(const Group& group, std::uint32_t number) {
  return group.state == Group::State::kBarrier && group.barrier == number;
}

void release(Warp& warp, std::uint32_t number, const Barrier& barrier) {
  for (std::uint32_t i = 0; i < warp.group_count; ++i) {
    Group& group = warp.groups[i];
    if (!waits_at(group, number)) continue;
    group.state = Group::State::kReady;
    group.holds = barrier.holds;
    group.fails = barrier.fails;
    if (!group.released) ++group.op;
  }
  join_groups(warp);
}

void complete(Block& block, std::uint32_t number) {
  Barrier& barrier = block.barriers[number];
  LaneMask synced[32] = {};
  for (std::uint32_t w = 0; w < block.warps.size(); ++w) {
    const Warp& warp = *block.warps[w];
    for (std::uint32_t i = 0; i < warp.group_count; ++i) {
      if (waits_at(warp.groups[i], number)) synced[w] |= warp.groups[i].lanes;
    }
  }
  // Of a cluster, some may come to their wait later: all that arrived are ordered.
  races::on_barrier(block, number, number == kClusterBarrier ? barrier.lanes : synced);
  const Barrier done = barrier;
  barrier = Barrier{};
  for (std::uint32_t w = 0; w < block.warps.size(); ++w) {
    if (synced[w] != 0) release(*block.warps[w], number, done);
  }
}

/// A barrier that threads use in two ways at once. Next::kOn if the arrival counts.
Next check_use(Warp& warp, LaneMask lanes, const Arrival& arrival) {
  const Barrier& barrier = warp.block->barriers[arrival.barrier];
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  if (barrier.warps != 0 && barrier.threads != arrival.threads) {
    return fault(warp, 719, lane,
                 "barrier " + std::to_string(arrival.barrier) + " with " +
                     std::to_string(arrival.threads) + " threads, while others wait at it with " +
                     std::to_string(barrier.threads) + " (0: all)");
  }
  if ((barrier.lanes[warp.index] & lanes) != 0) {
    return fault(warp, 719, lane,
                 "a second arrival at barrier " + std::to_string(arrival.barrier) +
                     ", which is not yet complete");
  }
  return Next::kOn;
}

}  // namespace

namespace {

/// `lanes` of the running group wait at a barrier.
Group& wait_at(Warp& warp, LaneMask lanes, std::uint32_t number) {
  Group& waiting = hold(warp, lanes, Group::State::kBarrier);
  waiting.barrier = static_cast<std::uint8_t>(number);
  return waiting;
}

}  // namespace

Next arrive(Warp& warp, LaneMask lanes, const Arrival& arrival) {
  if (check_use(warp, lanes, arrival) != Next::kOn) return Next::kSwitch;
  Block& block = *warp.block;
  Barrier& barrier = block.barriers[arrival.barrier];
  if (barrier.warps == 0) {
    barrier.threads = arrival.threads;
    barrier.op = warp.op;
  }
  barrier.warps |= 1u << warp.index;
  barrier.lanes[warp.index] |= lanes;
  barrier.arrived += count(lanes);
  if (arrival.reduces) {
    barrier.holds += count(lanes & arrival.holds);
    barrier.fails += count(lanes & ~arrival.holds);
  }
  if (!arrival.waits) {
    races::on_arrive(warp, arrival.barrier, lanes);
    warp.groups[0].op = warp.op + 1;
    warp.reschedule = true;
  } else {
    wait_at(warp, lanes, arrival.barrier).released = arrival.reduces;
  }
  if (is_complete(block, barrier)) complete(block, arrival.barrier);
  return Next::kSwitch;
}

Next arrive_at_cluster(Warp& warp, LaneMask lanes) {
  const Dim3& cluster = warp.block->launch->cluster;
  if (std::uint64_t{cluster.x} * cluster.y * cluster.z > 1) {
    return fault(warp, 719, static_cast<unsigned>(std::countr_zero(lanes)),
                 "the twin has clusters of one block only");
  }
  Arrival arrival;
  arrival.barrier = kClusterBarrier;
  arrival.waits = false;
  warp.at_cluster |= lanes;
  return arrive(warp, lanes, arrival);
}

Next wait_for_cluster(Warp& warp, LaneMask lanes) {
  const LaneMask absent = lanes & ~warp.at_cluster;
  if (absent != 0) {
    return fault(warp, 719, static_cast<unsigned>(std::countr_zero(absent)),
                 "barrier.cluster.wait of threads that have not arrived");
  }
  warp.at_cluster &= ~lanes;
  const LaneMask pending = warp.block->barriers[kClusterBarrier].lanes[warp.index] & lanes;
  if (pending == 0) return Next::kOn;
  wait_at(warp, pending, kClusterBarrier);
  return Next::kSwitch;
}

void complete_barriers(Block& block) {
  for (std::uint32_t i = 0; i <= kClusterBarrier; ++i) {
    if (is_complete(block, block.barriers[i])) complete(block, i);
  }
}

}  // namespace cuda_twin
