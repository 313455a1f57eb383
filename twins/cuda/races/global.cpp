#include "cuda/races/global.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "cuda/machine/grid.h"
#include "cuda/races/shared.h"
#include "cuda/races/update.h"

namespace cuda_twin {

namespace {

constexpr unsigned kMostEpochBits = 12;

unsigned bits_for(std::uint64_t count) {
  return count <= 1 ? 0 : static_cast<unsigned>(std::bit_width(count - 1));
}

std::uint64_t field(Mark mark, unsigned shift, unsigned bits) {
  return static_cast<std::uint64_t>(mark) >> shift & ((std::uint64_t{1} << bits) - 1);
}

std::uint64_t blocks_of(const Launch& launch) {
  return std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
}

std::string block_text(const Dim3& grid, std::uint64_t block) {
  const std::uint64_t plane = std::uint64_t{grid.x} * grid.y;
  return "block (" + std::to_string(block % grid.x) + "," + std::to_string(block % plane / grid.x) +
         "," + std::to_string(block / plane) + ")";
}

std::string access_text(const MarkLayout& layout, const Program& program, const Dim3& grid,
                        Mark mark) {
  std::string text = block_text(grid, layout.block(mark)) + ", warp " +
                     std::to_string(layout.warp(mark)) + ", lane " +
                     std::to_string(field(mark, kMarkLaneShift, 5));
  if (layout.op_bits != 0) text += " at " + line_text(program, layout.op(mark));
  return text;
}

}  // namespace

Mark limit_before(const WorkOrder& works, std::uint64_t work) {
  const std::uint64_t horizon = works.horizon(work);
  if (generation_of(horizon + 1) != generation_of(work)) return 1;
  return std::max<Mark>(1, work_mark(horizon + 1));
}

MarkLayout MarkLayout::of(const Launch& launch) {
  MarkLayout layout;
  const std::uint64_t threads = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  layout.warp_bits = bits_for((threads + kLanes - 1) / kLanes);
  layout.op_bits = bits_for(launch.program->ops.size() + 1);
  const unsigned block_bits = bits_for(blocks_of(launch));
  const auto left = [&] {
    return static_cast<int>(kWorkShift) - static_cast<int>(layout.block_shift() + block_bits);
  };
  if (left() < 0) layout.op_bits = 0;
  layout.fits = left() >= 0;
  if (layout.fits && launch.program->has_fences) {
    layout.epoch_bits = std::min(kMostEpochBits, static_cast<unsigned>(left()));
  }
  return layout;
}

unsigned MarkLayout::warp(Mark mark) const {
  return static_cast<unsigned>(field(mark, kMarkOwnShift, warp_bits));
}
std::uint32_t MarkLayout::epoch(Mark mark) const {
  return static_cast<std::uint32_t>(field(mark, epoch_shift(), epoch_bits));
}
std::uint32_t MarkLayout::op(Mark mark) const {
  return static_cast<std::uint32_t>(field(mark, op_shift(), op_bits));
}
std::uint64_t MarkLayout::block(Mark mark) const {
  return field(mark, block_shift(), kWorkShift - block_shift());
}

bool renew_page(GlobalCells& cells, CellPage& page, std::uint64_t offset,
                std::uint64_t generation) {
  if (page.generation > generation) return false;
  if (page.generation < generation) {
    page.clear();
    page.generation = generation;
  }
  cells.catch_up(page, offset);
  return true;
}

GlobalRaces::GlobalRaces(const Launch& launch)
    : works_(launch.space->works()),
      work_(launch.work),
      generation_(generation_of(launch.work)),
      layout_(MarkLayout::of(launch)),
      base_(work_mark(launch.work)),
      limit_(limit_before(works_, launch.work)) {
  const auto describe = [layout = layout_, program = launch.program, grid = launch.grid](
                            Mark mark) { return access_text(layout, *program, grid, mark); };
  works_.set_describe(work_, describe);
}

Marks GlobalRaces::marks(const Warp& warp, AccessFlags access) const {
  const Block& block = *warp.block;
  const std::uint32_t epoch =
      layout_.epoch_bits == 0
          ? 0
          : std::min(block.shared_races->epochs(warp).now, layout_.last_epoch());
  Marks marks;
  marks.own = base_ | static_cast<Mark>(block.linear_index) << layout_.block_shift() |
              Mark{epoch} << layout_.epoch_shift() | Mark{warp.index} << kMarkOwnShift |
              kind_of(access);
  if (layout_.op_bits != 0) marks.own |= Mark{warp.op} << layout_.op_shift();
  marks.limit = limit_;
  marks.who = ~((Mark{1} << layout_.block_shift()) - 1);
  marks.group = known_.load(std::memory_order_relaxed);
  marks.group_bits = ~((Mark{1} << kWorkShift) - 1);
  marks.group_limit = std::numeric_limits<Mark>::max();
  return marks;
}

bool GlobalRaces::ordered(const Warp& warp, Mark earlier) const {
  const std::uint64_t other = work_of(earlier, generation_);
  if (other != work_) {
    if (!works_.ordered(other, work_)) return false;
    known_.store(work_mark(other), std::memory_order_relaxed);
    return true;
  }
  if (!has_logs_.load(std::memory_order_acquire)) return false;
  const WarpEpochs& epochs = warp.block->shared_races->epochs(warp);
  const std::lock_guard lock(mutex_);
  return covers(epochs.acquired, layout_.block(earlier), layout_.warp(earlier),
                layout_.epoch(earlier));
}

void GlobalRaces::synchronize(const Warp& warp, std::uint64_t address, AccessFlags access) {
  SharedRaces& block = *warp.block->shared_races;
  WarpEpochs& epochs = block.epochs(warp);
  if ((access & kRead) != 0 && has_logs_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(mutex_);
    const auto found = logs_.find(address);
    if (found != logs_.end()) {
      epochs.pending.add(found->second.get(), found->second->size());
      if (const Release* const own = found->second->last_of(warp.block->linear_index)) {
        block.order(warp).has_pending = true;
        for (unsigned i = 0; i < kWarps; ++i) {
          Clock& pending = block.order(warp).pending[i];
          pending = std::max(pending, own->clocks[i]);
        }
      }
    }
  }
  if ((access & kAcquire) != 0) block.acquire(warp);
  if ((access & kRelease) != 0) block.fence(warp);
  if ((access & kWrite) == 0 || epochs.fenced == nullptr) return;
  const std::lock_guard lock(mutex_);
  auto& log = logs_[address];
  if (log == nullptr) log = std::make_unique<ReleaseLog>();
  log->add(epochs.fenced);
  has_logs_.store(true, std::memory_order_release);
}

bool GlobalRaces::report_race(Warp& warp, unsigned lane, const Spot& spot, unsigned bytes,
                              Mark earlier) {
  const std::uint64_t other = work_of(earlier, generation_);
  const bool same_work = other == work_;
  const std::string text = name_of_spot(spot) + " (" + std::to_string(bytes) + " bytes): a " +
                           ((earlier & kMarkWrite) != 0 ? "write" : "read") + " by " +
                           works_.describe(other, earlier) +
                           " is not ordered before this access by warp " +
                           std::to_string(warp.index) + ", lane " + std::to_string(lane) +
                           (same_work ? ": the blocks have no release and acquire between"
                                      : ": no stream, event or wait between");
  return report(warp, same_work ? "global race" : "work race", lane, text) == Next::kOn;
}

bool GlobalRaces::check(Warp& warp, unsigned lane, const Spot& spot, unsigned bytes,
                        AccessFlags access) {
  if (!layout_.fits || spot.extent->cells == nullptr) return true;
  if ((access & kStrong) != 0) synchronize(warp, spot.address, access);
  const Marks marks = this->marks(warp, access);
  const Mark own = marks.own | Mark{lane} << kMarkLaneShift;
  Mark race = 0;
  const auto is_ordered = [&](Mark earlier) {
    return marks.ordered(earlier) || ordered(warp, earlier);
  };
  GlobalCells& cells = *spot.extent->cells;
  const std::uint64_t offset = spot.address - spot.extent->begin + spot.extent->cells_offset;
  races::each_cell_page(offset, bytes, [&](std::uint64_t first, unsigned count) {
    CellPage* const page = cells.page(first);
    if (page == nullptr) return;
    const PageLock lock(*page);
    if (!ready_page(cells, *page, first, generation_)) return;
    const Mark found = races::update(*page, first % kCellPageBytes, count, own, is_ordered);
    if (race == 0) race = found;
  });
  return race == 0 || report_race(warp, lane, spot, bytes, race);
}

}  // namespace cuda_twin
