// The order of the warps and lanes of one block, and the last accesses to its shared memory.
//
// A mark of shared memory: bits 7 to 11 warp, 12 to 31 op, 32 and up the warp's clock.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cuda/machine/block.h"
#include "cuda/memory/access.h"
#include "cuda/races/releases.h"
#include "cuda/races/scan.h"

namespace cuda_twin {

inline constexpr unsigned kWarps = 32;
inline constexpr unsigned kBlockBarriers = 32;
using Clock = std::uint32_t;
using WarpClocks = std::array<Clock, kWarps>;

/// For one warp: up to which clock the accesses of each other warp are ordered before its own. The
/// clocks of all warps advance together at barriers, so that comparing with the least of them
/// mostly decides.
struct WarpOrder {
  Clock now = 1;
  Clock touched = 0;     ///< clock of its last access
  Clock floor = 0;       ///< accesses of any warp and lane up to here are ordered
  WarpClocks seen{};     ///< for the warp itself: its last .sync instruction of all lanes
  WarpClocks fenced{};   ///< `seen` at the last fence
  WarpClocks pending{};  ///< of strong reads, until the next fence
  bool has_fenced = false, has_pending = false;
  /// [later lane][earlier lane], after .sync instructions of some lanes; null before.
  using LaneClocks = std::array<std::array<Clock, kLanes>, kLanes>;
  std::unique_ptr<LaneClocks> lanes;
};

/// The same for other blocks: epochs end at barriers and fences.
struct WarpEpochs {
  Clock now = 1;
  WarpClocks seen{};
  std::shared_ptr<const Release> fenced;  ///< null: no fence yet
  Acquired acquired, pending;             ///< releases that were read, before and since a fence
};

class SharedRaces {
 public:
  void begin(Block& block);

  void arrive(const Warp& warp, unsigned barrier);
  void barrier(const Block& block, unsigned barrier, const LaneMask* synced);
  void warp_sync(const Warp& warp, LaneMask lanes);
  void fence(const Warp& warp);
  /// Of scope .cta: it orders nothing for other blocks.
  void fence_in_block(const Warp& warp);

  // --- Shared memory.
  Marks marks(const Warp& warp, AccessFlags access);
  CellPage& page(std::uint64_t address) { return *pages_[address / kCellPageBytes]; }
  /// A store begins: marks with equal clock and op are of one instruction.
  void begin_store(const Warp& warp);
  bool check(Warp& warp, unsigned lane, const Spot& spot, unsigned bytes, AccessFlags access);

  // --- For global memory.
  WarpEpochs& epochs(const Warp& warp) { return epochs_[warp.index]; }
  WarpOrder& order(const Warp& warp) { return orders_[warp.index]; }
  void acquire(const Warp& warp) { acquire_pending(warp.index); }

 private:
  bool ordered(const Warp& warp, unsigned lane, Mark earlier) const;
  bool report_race(Warp& warp, unsigned lane, const Spot& spot, unsigned bytes, Mark earlier);
  void synchronize(const Warp& warp, std::uint64_t address, AccessFlags access);
  void join_barrier(unsigned barrier, unsigned warp);
  void leave_barrier(unsigned barrier, const Warp& warp, LaneMask lanes);
  void acquire_in_block(unsigned warp);
  void acquire_pending(unsigned warp);
  void find_floor(unsigned warp);

  std::uint64_t block_ = 0;
  unsigned warps_ = 0;
  std::vector<WarpOrder> orders_;
  std::vector<WarpEpochs> epochs_;
  std::vector<std::unique_ptr<CellPage>> pages_;
  struct Gathered {  ///< of the warps that arrived at a barrier
    bool any = false;
    bool has_fenced = false, has_pending = false;
    WarpClocks seen{}, fenced{}, pending{}, epochs{};
    std::shared_ptr<const Release> release;
    Acquired acquired, pending_releases;
  };
  std::array<Gathered, kBlockBarriers> barriers_;
  std::unordered_map<std::uint64_t, WarpClocks> releases_;  ///< at shared addresses
};

}  // namespace cuda_twin
