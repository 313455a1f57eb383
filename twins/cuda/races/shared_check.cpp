// Accesses to shared memory, one lane at a time.
#include <algorithm>
#include <bit>

#include "cuda/machine/grid.h"
#include "cuda/races/shared.h"
#include "cuda/races/update.h"

namespace cuda_twin {

namespace {

constexpr unsigned kWarpShift = kMarkOwnShift;
constexpr unsigned kOpShift = 12;
constexpr unsigned kClockShift = 32;
constexpr Mark kOpMask = 0xFFFFF;

unsigned warp_of(Mark mark) {
  return static_cast<unsigned>(mark >> kWarpShift & 31);
}
unsigned lane_of(Mark mark) {
  return static_cast<unsigned>(mark >> kMarkLaneShift & 31);
}
std::uint32_t op_of(Mark mark) {
  return static_cast<std::uint32_t>(mark >> kOpShift & kOpMask);
}
Clock clock_of(Mark mark) {
  return static_cast<Clock>(mark >> kClockShift);
}

}  // namespace

Marks SharedRaces::marks(const Warp& warp, AccessFlags access) {
  WarpOrder& order = orders_[warp.index];
  order.touched = order.now;
  Marks marks;
  marks.own = Mark{order.now} << kClockShift | (Mark{warp.op} & kOpMask) << kOpShift |
              Mark{warp.index} << kWarpShift | kind_of(access);
  marks.limit = (Mark{order.floor} + 1) << kClockShift;
  constexpr Mark kWarpBits = Mark{31} << kWarpShift;
  marks.who = kWarpBits | Mark{31} << kMarkLaneShift;
  marks.group = marks.own;
  marks.group_bits = kWarpBits;
  marks.group_limit = (Mark{order.seen[warp.index]} + 1) << kClockShift;
  return marks;
}

bool SharedRaces::ordered(const Warp& warp, unsigned lane, Mark earlier) const {
  const WarpOrder& order = orders_[warp.index];
  const Clock clock = clock_of(earlier);
  if (clock <= order.floor) return true;
  const unsigned other = warp_of(earlier);
  if (other != warp.index) return clock <= order.seen[other];
  if (lane_of(earlier) == lane || clock <= order.seen[other]) return true;
  return order.lanes != nullptr && clock <= (*order.lanes)[lane][lane_of(earlier)];
}

bool SharedRaces::report_race(Warp& warp, unsigned lane, const Spot& spot, unsigned bytes,
                              Mark earlier) {
  const bool same_warp = warp_of(earlier) == warp.index;
  const std::string text =
      name_of_spot(spot) + " (" + std::to_string(bytes) + " bytes): a " +
      ((earlier & kMarkWrite) != 0 ? "write" : "read") + " by warp " +
      std::to_string(warp_of(earlier)) + ", lane " + std::to_string(lane_of(earlier)) + " at " +
      line_text(*warp.block->launch->program, op_of(earlier)) + " is not ordered before this " +
      "access by warp " + std::to_string(warp.index) + ", lane " + std::to_string(lane) +
      (same_warp ? ": no .sync instruction of the warp between" : ": no barrier between");
  return report(warp, same_warp ? "warp race" : "shared race", lane, text) == Next::kOn;
}

bool SharedRaces::check(Warp& warp, unsigned lane, const Spot& spot, unsigned bytes,
                        AccessFlags access) {
  if (warp.index >= warps_) return true;
  if ((access & kStrong) != 0) synchronize(warp, spot.address, access);
  const Marks marks = this->marks(warp, access);
  const Mark own = marks.own | Mark{lane} << kMarkLaneShift;
  Mark race = 0;
  const auto is_ordered = [&](Mark earlier) {
    const bool same_instruction = (earlier | 0x7F) == (own | 0x7F);
    return same_instruction || ordered(warp, lane, earlier);
  };
  races::each_cell_page(spot.address, bytes, [&](std::uint64_t first, unsigned count) {
    CellPage& cells = page(first);
    const Mark found = races::update(cells, first % kCellPageBytes, count, own, is_ordered);
    if (race == 0) race = found;
  });
  return race == 0 || report_race(warp, lane, spot, bytes, race);
}

}  // namespace cuda_twin
