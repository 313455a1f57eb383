// The last accesses to global memory, and the order between blocks and pieces of work.
//
// A mark of global memory: from bit 7 on, in the widths of a MarkLayout, warp, epoch of the warp,
// op, block; in the highest bits the number of the piece of work.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "cuda/machine/block.h"
#include "cuda/memory/access.h"
#include "cuda/races/releases.h"
#include "cuda/races/scan.h"
#include "cuda/races/work_order.h"

namespace cuda_twin {

inline constexpr unsigned kWorkShift = 44;
inline constexpr std::uint64_t kWorkNumbers = std::uint64_t{1} << (62 - kWorkShift);
/// Marks have the low bits of a number of work. Cells of older generations are forgotten.
inline std::uint64_t generation_of(std::uint64_t work) {
  return work / kWorkNumbers;
}
inline Mark work_mark(std::uint64_t work) {
  return static_cast<Mark>(work % kWorkNumbers) << kWorkShift;
}
inline std::uint64_t work_of(Mark mark, std::uint64_t generation) {
  return static_cast<std::uint64_t>(mark >> kWorkShift) + generation * kWorkNumbers;
}
/// Marks below this are of work that is ordered before `work`.
Mark limit_before(const WorkOrder& works, std::uint64_t work);

/// Which bits of a mark are which.
struct MarkLayout {
  unsigned warp_bits = 0, epoch_bits = 0, op_bits = 0;
  bool fits = true;  ///< false: the launch has too many blocks for marks

  static MarkLayout of(const Launch& launch);
  unsigned epoch_shift() const { return kMarkOwnShift + warp_bits; }
  unsigned op_shift() const { return epoch_shift() + epoch_bits; }
  unsigned block_shift() const { return op_shift() + op_bits; }
  unsigned warp(Mark mark) const;
  std::uint32_t epoch(Mark mark) const;
  std::uint32_t op(Mark mark) const;
  std::uint64_t block(Mark mark) const;
  std::uint32_t last_epoch() const { return (std::uint32_t{1} << epoch_bits) - 1; }
};

/// Of one launch; used by all its host threads.
class GlobalRaces {
 public:
  explicit GlobalRaces(const Launch& launch);

  std::uint64_t generation() const { return generation_; }
  bool fits() const { return layout_.fits; }
  Marks marks(const Warp& warp, AccessFlags access) const;
  bool check(Warp& warp, unsigned lane, const Spot& spot, unsigned bytes, AccessFlags access);

 private:
  bool ordered(const Warp& warp, Mark earlier) const;
  bool report_race(Warp& warp, unsigned lane, const Spot& spot, unsigned bytes, Mark earlier);
  void synchronize(const Warp& warp, std::uint64_t address, AccessFlags access);

  WorkOrder& works_;
  std::uint64_t work_;
  std::uint64_t generation_;
  MarkLayout layout_;
  Mark base_, limit_;
  mutable std::atomic<Mark> known_{
      -1};                    ///< work that is ordered before, besides those below limit_
  mutable std::mutex mutex_;  ///< guards the logs
  std::unordered_map<std::uint64_t, std::unique_ptr<ReleaseLog>> logs_;  ///< by address
  std::atomic<bool> has_logs_{false};
};

/// Readies a locked page for marks of a generation. False if the page has a later one: it is left
/// alone.
bool renew_page(GlobalCells& cells, CellPage& page, std::uint64_t offset, std::uint64_t generation);
inline bool ready_page(GlobalCells& cells, CellPage& page, std::uint64_t offset,
                       std::uint64_t generation) {
  return (page.generation == generation && cells.is_current(page)) ||
         renew_page(cells, page, offset, generation);
}

}  // namespace cuda_twin
