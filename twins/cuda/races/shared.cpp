#include "cuda/races/shared.h"

#include <algorithm>

namespace cuda_twin {

namespace {

constexpr Clock kLastClock = Clock{1} << 30;  // marks stay positive

void join(WarpClocks& to, const WarpClocks& from) {
  for (unsigned i = 0; i < kWarps; ++i) to[i] = std::max(to[i], from[i]);
}

/// The accesses that are ordered before strong writes after either of two fences.
std::shared_ptr<const Release> joined(const std::shared_ptr<const Release>& a,
                                      const std::shared_ptr<const Release>& b) {
  if (a == nullptr || a == b) return b;
  if (b == nullptr) return a;
  auto both = std::make_shared<Release>(*a);
  join(both->epochs, b->epochs);
  join(both->clocks, b->clocks);
  both->acquired.join(b->acquired);
  return both;
}

}  // namespace

void SharedRaces::begin(Block& block) {
  warps_ = static_cast<unsigned>(std::min<std::size_t>(block.warps.size(), kWarps));
  block_ = block.linear_index;
  Clock top = 0;
  for (const WarpOrder& order : orders_) top = std::max(top, order.now);
  const std::size_t pages = block.shared.size() / kCellPageBytes + 1;
  while (pages_.size() < pages) pages_.push_back(std::make_unique<CellPage>());
  if (top > kLastClock / 2) {
    for (const auto& page : pages_) page->clear();
    top = 0;
  }
  // Accesses of the block before are ordered: the cells need no clearing.
  orders_.resize(warps_);
  for (WarpOrder& order : orders_) {
    order = WarpOrder{};
    order.now = top + 1;
    order.floor = top;
    order.seen.fill(top);
  }
  epochs_.clear();
  epochs_.resize(warps_);
  barriers_.fill(Gathered{});
  releases_.clear();
}

void SharedRaces::find_floor(unsigned warp) {
  WarpOrder& order = orders_[warp];
  order.floor = kLastClock;
  for (unsigned w = 0; w < warps_; ++w) {
    // A warp that accessed nothing since is ordered up to its present clock.
    const bool all_seen = orders_[w].touched <= order.seen[w];
    order.floor = std::min(order.floor, all_seen ? orders_[w].now - 1 : order.seen[w]);
  }
}

void SharedRaces::begin_store(const Warp& warp) {
  if (warp.index >= warps_) return;
  Clock& now = orders_[warp.index].now;
  if (now < kLastClock) ++now;
}

void SharedRaces::join_barrier(unsigned barrier, unsigned warp) {
  Gathered& gathered = barriers_[barrier];
  WarpOrder& order = orders_[warp];
  WarpEpochs& epochs = epochs_[warp];
  gathered.any = true;
  join(gathered.seen, order.seen);
  gathered.seen[warp] = std::max(gathered.seen[warp], order.now);
  ++order.now;
  join(gathered.epochs, epochs.seen);
  gathered.epochs[warp] = std::max(gathered.epochs[warp], epochs.now);
  ++epochs.now;
  if (order.has_fenced) join(gathered.fenced, order.fenced);
  if (order.has_pending) join(gathered.pending, order.pending);
  gathered.has_fenced |= order.has_fenced;
  gathered.has_pending |= order.has_pending;
  gathered.release = joined(gathered.release, epochs.fenced);
  gathered.acquired.join(epochs.acquired);
  gathered.pending_releases.join(epochs.pending);
}

void SharedRaces::leave_barrier(unsigned barrier, const Warp& warp, LaneMask lanes) {
  const Gathered& gathered = barriers_[barrier];
  WarpOrder& order = orders_[warp.index];
  WarpEpochs& epochs = epochs_[warp.index];
  const Clock own = order.seen[warp.index];
  join(order.seen, gathered.seen);
  order.seen[warp.index] = own;
  warp_sync(warp, lanes);
  if (gathered.has_fenced) join(order.fenced, gathered.fenced);
  if (gathered.has_pending) join(order.pending, gathered.pending);
  order.has_fenced |= gathered.has_fenced;
  order.has_pending |= gathered.has_pending;
  join(epochs.seen, gathered.epochs);
  epochs.fenced = joined(epochs.fenced, gathered.release);
  epochs.acquired.join(gathered.acquired);
  epochs.pending.join(gathered.pending_releases);
}

void SharedRaces::arrive(const Warp& warp, unsigned barrier) {
  if (barrier < kBlockBarriers && warp.index < warps_) join_barrier(barrier, warp.index);
}

void SharedRaces::barrier(const Block& block, unsigned barrier, const LaneMask* synced) {
  if (barrier >= kBlockBarriers) return;
  Clock top = 0;
  for (unsigned w = 0; w < warps_; ++w) {
    if (synced[w] == 0) continue;
    join_barrier(barrier, w);
    top = std::max(top, orders_[w].now);
  }
  for (unsigned w = 0; w < warps_; ++w) {
    if (block.warps[w]->alive() == 0) orders_[w].now = std::max(orders_[w].now, top);
  }
  // All that waited were at clocks below `top`, and go on from there.
  for (unsigned w = 0; w < warps_; ++w) {
    if (synced[w] == 0) continue;
    barriers_[barrier].seen[w] = top - 1;
    orders_[w].now = top;
  }
  for (unsigned w = 0; w < warps_; ++w) {
    if (synced[w] != 0) leave_barrier(barrier, *block.warps[w], synced[w]);
  }
  barriers_[barrier] = Gathered{};
}

void SharedRaces::warp_sync(const Warp& warp, LaneMask lanes) {
  if (warp.index >= warps_) return;
  WarpOrder& order = orders_[warp.index];
  Clock& own = order.seen[warp.index];
  const LaneMask alive = warp.lanes & ~warp.exited;
  if ((lanes & alive) == alive) {
    own = order.now++;
    order.lanes.reset();
    return find_floor(warp.index);
  }
  if (order.lanes == nullptr) {
    order.lanes = std::make_unique<WarpOrder::LaneClocks>();
    for (auto& row : *order.lanes) row.fill(own);
  }
  std::array<Clock, kLanes> all{};
  for (unsigned later = 0; later < kLanes; ++later) {
    if ((lanes >> later & 1) == 0) continue;
    const auto& row = (*order.lanes)[later];
    for (unsigned i = 0; i < kLanes; ++i) all[i] = std::max(all[i], row[i]);
    all[later] = order.now;
  }
  for (unsigned later = 0; later < kLanes; ++later) {
    if ((lanes >> later & 1) != 0) (*order.lanes)[later] = all;
  }
  ++order.now;
  find_floor(warp.index);
}

void SharedRaces::acquire_in_block(unsigned warp) {
  WarpOrder& order = orders_[warp];
  if (order.has_pending) {
    join(order.seen, order.pending);
    order.has_pending = false;
    order.pending.fill(0);
    find_floor(warp);
  }
}

void SharedRaces::acquire_pending(unsigned warp) {
  acquire_in_block(warp);
  WarpEpochs& epochs = epochs_[warp];
  epochs.acquired.join(epochs.pending);
  epochs.pending.parts.clear();
}

void SharedRaces::fence_in_block(const Warp& warp) {
  if (warp.index >= warps_) return;
  acquire_in_block(warp.index);
  WarpOrder& order = orders_[warp.index];
  order.fenced = order.seen;
  order.fenced[warp.index] = order.now++;
  order.has_fenced = true;
}

void SharedRaces::fence(const Warp& warp) {
  if (warp.index >= warps_) return;
  acquire_pending(warp.index);
  fence_in_block(warp);
  const WarpOrder& order = orders_[warp.index];
  WarpEpochs& epochs = epochs_[warp.index];
  auto release = std::make_shared<Release>();
  release->block = block_;
  release->epochs = epochs.seen;
  release->epochs[warp.index] = epochs.now++;
  release->clocks = order.fenced;
  release->acquired = epochs.acquired;
  epochs.fenced = std::move(release);
}

void SharedRaces::synchronize(const Warp& warp, std::uint64_t address, AccessFlags access) {
  WarpOrder& order = orders_[warp.index];
  if ((access & kRead) != 0 && !releases_.empty()) {
    const auto found = releases_.find(address);
    if (found != releases_.end()) {
      join(order.pending, found->second);
      order.has_pending = true;
    }
  }
  if ((access & kAcquire) != 0) acquire_pending(warp.index);
  if ((access & kRelease) != 0) fence(warp);
  if ((access & kWrite) != 0 && order.has_fenced) join(releases_[address], order.fenced);
}

}  // namespace cuda_twin
