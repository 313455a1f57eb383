// Accesses to one byte, a write among them, that nothing orders. The machine and the instructions
// call these hooks; each does nothing where races are not checked.
//
// Shared memory: lanes are ordered by their program, by .sync instructions that name both, by
// barriers, and by release and acquire. Global memory: the same for the blocks of a launch; pieces
// of work are ordered by streams, events and waits (work_order.h).
#pragma once

#include <cstdint>
#include <memory>

#include "cuda/machine/block.h"

namespace cuda_twin::races {

/// The state for a launch's global memory; null if its settings do not check races. Set
/// Launch::global_races to it while the launch runs.
std::shared_ptr<GlobalRaces> begin_launch(const Launch& launch);

/// Readies `state` for a block that starts, and makes it if null; sets Block::shared_races. A host
/// thread keeps one state for all the blocks that it runs, one after the other. Nothing happens if
/// the launch does not check races.
void begin_block(Block& block, std::shared_ptr<SharedRaces>& state);

/// `lanes` of the warp arrive at a barrier of the block and do not wait (bar.arrive).
void on_arrive(Warp& warp, unsigned barrier, LaneMask lanes);
/// A barrier is complete. `synced[w]` are the lanes of warp w that waited at it.
void on_barrier(Block& block, unsigned barrier, const LaneMask* synced);
/// A .sync instruction of the warp whose mask names `lanes` (bar.warp.sync, shfl.sync, ...).
void on_warp_sync(Warp& warp, LaneMask lanes);
/// fence or membar; `in_block`: of scope .cta, which orders nothing for other blocks.
void on_fence(Warp& warp, LaneMask lanes, bool in_block);

/// A copy or a fill, piece of work `work`, reads or writes bytes of one allocation. The text of a
/// race with earlier accesses, for a finding of the check "work race"; "" if there is none.
std::string on_copy(const Space& space, std::uint64_t work, std::uint64_t address,
                    std::uint64_t bytes, bool write);

}  // namespace cuda_twin::races
