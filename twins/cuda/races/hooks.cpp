#include "cuda/races/check.h"
#include "cuda/races/global.h"
#include "cuda/races/races.h"
#include "cuda/races/shared.h"

namespace cuda_twin::races {

std::shared_ptr<GlobalRaces> begin_launch(const Launch& launch) {
  if (!launch.checks.races || launch.space == nullptr) return nullptr;
  return std::make_shared<GlobalRaces>(launch);
}

void begin_block(Block& block, std::shared_ptr<SharedRaces>& state) {
  if (!block.launch->checks.races) return;
  if (state == nullptr) state = std::make_shared<SharedRaces>();
  state->begin(block);
  block.shared_races = state.get();
}

void on_arrive(Warp& warp, unsigned barrier, LaneMask) {
  if (auto* const races = warp.block->shared_races) races->arrive(warp, barrier);
}
void on_barrier(Block& block, unsigned barrier, const LaneMask* synced) {
  if (block.shared_races != nullptr) block.shared_races->barrier(block, barrier, synced);
}
void on_warp_sync(Warp& warp, LaneMask lanes) {
  if (auto* const races = warp.block->shared_races) races->warp_sync(warp, lanes);
}
void on_fence(Warp& warp, LaneMask, bool in_block) {
  auto* const races = warp.block->shared_races;
  if (races == nullptr) return;
  if (in_block) {
    races->fence_in_block(warp);
  } else {
    races->fence(warp);
  }
}

bool check(Warp& warp, unsigned lane, const Spot& spot, unsigned bytes, AccessFlags access) {
  const Block& block = *warp.block;
  if (spot.space == ptx::Space::kShared) {
    return block.shared_races == nullptr ||
           block.shared_races->check(warp, lane, spot, bytes, access);
  }
  if (spot.extent == nullptr || block.launch->global_races == nullptr) return true;
  return block.launch->global_races->check(warp, lane, spot, bytes, access);
}

}  // namespace cuda_twin::races
