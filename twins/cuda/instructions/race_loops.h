// The race check of consecutive lanes: marks are compared with cells in vector code.
#pragma once

#include <algorithm>

#include "cuda/instructions/level.h"
#include "cuda/races/scan.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// Part of a run of consecutive accesses, in one page.
struct RunPart {
  unsigned first = 0;       ///< byte of the page
  unsigned bytes = 0;       ///< a multiple of the page's cells
  unsigned before = 0;      ///< bytes of the run before this part
  unsigned lane_shift = 2;  ///< a lane has 1 << lane_shift bytes
};

/// The own mark in cell `k` of a part.
[[gnu::always_inline]] inline Mark own_mark(const Marks& marks, const RunPart& part, unsigned shift,
                                            unsigned k) {
  const unsigned lane = (part.before + (k << shift)) >> part.lane_shift;
  return marks.own | static_cast<Mark>(lane) << kMarkLaneShift;
}

/// Nonzero if the earlier access is ordered before the own one.
[[gnu::always_inline]] inline bool is_before(const Marks& marks, Mark own, Mark earlier) {
  const bool old = earlier < marks.limit;
  const bool same = ((earlier ^ own) & marks.who) == 0;
  const bool grouped = ((earlier ^ marks.group) & marks.group_bits) == 0;
  const bool group_old = earlier < marks.group_limit;
  return old | same | (grouped & group_old);
}

/// `kCount` cells; 0: as many as the part has.
template <unsigned kCount>
[[gnu::always_inline]] inline bool scan_reads(CellPage& page, const RunPart& part,
                                              const Marks& marks) {
  const unsigned shift = page.shift();
  const unsigned count = kCount != 0 ? kCount : part.bytes >> shift;
  const Mark* const writes = page.writes() + (part.first >> shift);
  Mark* const reads = page.reads() + (part.first >> shift);
  bool good = true;
  bool alone = true;
  for (unsigned k = 0; k < count; ++k) {
    const Mark own = own_mark(marks, part, shift, k);
    good &= is_before(marks, own, writes[k]);
    const bool before = is_before(marks, own, reads[k]);
    alone &= before;
    reads[k] = before ? own : reads[k];
  }
  if (!alone) {
    if (!page.has_others()) page.make_others();
    Mark* const others = page.others() + (part.first >> shift);
    for (unsigned k = 0; k < count; ++k) {
      const Mark own = own_mark(marks, part, shift, k);
      others[k] = reads[k] == own ? others[k] : own;
    }
  }
  return good;
}

template <unsigned kCount>
[[gnu::always_inline]] inline bool scan_writes(CellPage& page, const RunPart& part,
                                               const Marks& marks) {
  const unsigned shift = page.shift();
  const unsigned count = kCount != 0 ? kCount : part.bytes >> shift;
  Mark* const writes = page.writes() + (part.first >> shift);
  const Mark* const reads = page.reads() + (part.first >> shift);
  bool good = true;
  for (unsigned k = 0; k < count; ++k) {
    const Mark own = own_mark(marks, part, shift, k);
    good &= is_before(marks, own, writes[k]);
    good &= is_before(marks, own, reads[k]);
  }
  if (page.has_others()) {
    const Mark* const others = page.others() + (part.first >> shift);
    for (unsigned k = 0; k < count; ++k) {
      good &= is_before(marks, own_mark(marks, part, shift, k), others[k]);
    }
  }
  if (!good) return false;
  for (unsigned k = 0; k < count; ++k) writes[k] = own_mark(marks, part, shift, k);
  return true;
}

template <unsigned kCount>
[[gnu::always_inline]] inline bool scan_cells(CellPage& page, const RunPart& part,
                                              const Marks& marks) {
  return (marks.own & kMarkWrite) != 0 ? scan_writes<kCount>(page, part, marks)
                                       : scan_reads<kCount>(page, part, marks);
}

/// True if all earlier accesses are ordered before: then the cells have the new marks. Else they
/// may be, and each lane needs a look.
inline bool scan(CellPage& page, const RunPart& part, const Marks& marks) {
  const unsigned finest = std::min(part.lane_shift, 2u);
  if (finest < page.shift()) page.refine(finest);
  page.newest = std::max(page.newest, own_mark(marks, part, 0, part.bytes - 1));
  switch (part.bytes >> page.shift()) {
    case 1:
      return scan_cells<1>(page, part, marks);
    case 2:
      return scan_cells<2>(page, part, marks);
    case 4:
      return scan_cells<4>(page, part, marks);
    default:
      return scan_cells<0>(page, part, marks);
  }
}

/// Holds the lock of the page that is in use.
class PageInUse {
 public:
  PageInUse() = default;
  ~PageInUse() { change(nullptr); }
  PageInUse(const PageInUse&) = delete;
  PageInUse& operator=(const PageInUse&) = delete;
  CellPage* get() const { return page_; }
  void change(CellPage* page) {
    if (page_ != nullptr) page_->unlock();
    page_ = page;
    if (page_ != nullptr) page_->lock();
  }

 private:
  CellPage* page_ = nullptr;
};

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
