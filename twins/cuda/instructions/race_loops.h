// The race check of one warp instruction: its marks are compared with cells in vector code.
#pragma once

#include <algorithm>
#include <bit>

#include "cuda/instructions/lanes.h"
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

/// The own marks in the cells of one lane.
struct LaneMarks {
  Mark own = 0;
  Mark operator()(Mark) const { return own; }
};
/// The same for consecutive lanes of 1 << cells_shift cells each.
struct RunMarks {
  Mark first = 0;
  unsigned cells_shift = 0;
  Mark operator()(Mark cell) const { return first + (cell >> cells_shift << kMarkLaneShift); }
};

/// All bits if the earlier access may not be ordered before the own one, else 0.
[[gnu::always_inline]] inline Mark doubt(const Marks& marks, Mark own, Mark earlier) {
  const bool old = earlier < marks.limit;
  const bool same = ((earlier ^ own) & marks.who) == 0;
  const bool grouped = ((earlier ^ marks.group) & marks.group_bits) == 0;
  const bool group_old = earlier < marks.group_limit;
  return static_cast<Mark>(old | same | (grouped & group_old)) - 1;
}

/// Whether doubt() has no bits for any of the cells.
template <class Own>
[[gnu::always_inline]] inline bool all_before(const Mark* earlier, Mark count, const Own& own,
                                              const Marks& marks) {
  Mark young = -1;  // negative: all are below the limit
  Mark foreign = 0;
  for (Mark k = 0; k < count; ++k) {
    young &= earlier[k] - marks.limit;
    foreign |= (earlier[k] ^ own(k)) & marks.who;
  }
  if (young < 0 || foreign == 0) return true;
  Mark doubts = 0;
  for (Mark k = 0; k < count; ++k) doubts |= doubt(marks, own(k), earlier[k]);
  return doubts == 0;
}

/// Reads some of whose cells have reads that are not ordered before: these stay, and the own ones
/// are the last.
template <class Own>
void add_reads(CellPage& page, unsigned first, Mark count, const Own& own, const Marks& marks) {
  if (!page.has_others()) page.make_others();
  Mark* const reads = page.reads() + first;
  Mark* const others = page.others() + first;
  for (Mark k = 0; k < count; ++k) {
    const Mark kept = doubt(marks, own(k), reads[k]);
    others[k] = (own(k) & kept) | (others[k] & ~kept);
    reads[k] = (reads[k] & kept) | (own(k) & ~kept);
  }
}

template <class Own>
[[gnu::always_inline]] inline bool scan_reads(CellPage& page, unsigned first, Mark count,
                                              const Own& own, const Marks& marks) {
  const bool good =
      page.newest_write < marks.limit || all_before(page.writes() + first, count, own, marks);
  Mark* const reads = page.reads() + first;
  if (page.newest_read < marks.limit || all_before(reads, count, own, marks)) {
    for (Mark k = 0; k < count; ++k) reads[k] = own(k);
  } else {
    add_reads(page, first, count, own, marks);
  }
  page.newest_read = std::max(page.newest_read, own(count - 1));
  return good;
}

template <class Own>
[[gnu::always_inline]] inline bool scan_writes(CellPage& page, unsigned first, Mark count,
                                               const Own& own, const Marks& marks) {
  const bool good =
      (page.newest_write < marks.limit || all_before(page.writes() + first, count, own, marks)) &&
      (page.newest_read < marks.limit ||
       (all_before(page.reads() + first, count, own, marks) &&
        (!page.has_others() || all_before(page.others() + first, count, own, marks))));
  if (!good) return false;
  Mark* const writes = page.writes() + first;
  for (Mark k = 0; k < count; ++k) writes[k] = own(k);
  page.newest_write = std::max(page.newest_write, own(count - 1));
  return true;
}

/// Cells of a page from `first` on. True if all earlier accesses are ordered before: then the cells
/// have the new marks. Else they may be, and each lane needs a look.
template <class Own>
[[gnu::always_inline]] inline bool scan_cells(CellPage& page, unsigned first, Mark count,
                                              const Own& own, const Marks& marks) {
  return (marks.own & kMarkWrite) != 0 ? scan_writes(page, first, count, own, marks)
                                       : scan_reads(page, first, count, own, marks);
}

/// scan_cells() for part of a run whose lane 0 has marks.own.
inline bool scan(CellPage& page, const RunPart& part, const Marks& marks) {
  page.refine(std::min(part.lane_shift, kCoarsest));
  const unsigned shift = page.shift();
  const Mark lane = part.before >> part.lane_shift;
  const RunMarks own{marks.own + (lane << kMarkLaneShift), part.lane_shift - shift};
  return scan_cells(page, part.first >> shift, part.bytes >> shift, own, marks);
}

/// Accesses of lanes to a page: lane i to 1 << lane_shift bytes at at[i] + base.
struct LanesPart {
  const std::uint64_t* at = nullptr;
  std::uint64_t base = 0;
  LaneMask lanes = 0;
  unsigned lane_shift = 2;

  unsigned byte(unsigned lane) const {
    return static_cast<unsigned>((at[lane] + base) % kCellPageBytes);
  }
};

/// visit(lane) for each; a mask of the lanes for which it returns true.
template <class Visit>
[[gnu::always_inline]] inline LaneMask each_of(LaneMask lanes, Visit visit) {
  LaneMask found = 0;
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    found |= LaneMask{visit(lane)} << lane;
  }
  return found;
}

/// LanesPart where each access is one cell.
class SingleCells {
 public:
  SingleCells(CellPage& page, const LanesPart& part, const Marks& marks)
      : page_(page), part_(part), marks_(marks) {}

  /// The lanes that may be in a race. All are noted.
  LaneMask scan_reads() {
    LaneMask doubtful = 0;
    if (page_.newest_write >= marks_.limit) {
      const Mark* const writes = page_.writes();
      doubtful = each_of(part_.lanes, [&](unsigned lane) { return !is_after(lane, writes); });
    }
    Mark* const reads = page_.reads();
    const LaneMask later = each_of(part_.lanes, [&](unsigned lane) {
      if (!is_after(lane, reads)) return true;
      reads[cell(lane)] = own(lane);
      return false;
    });
    if (later != 0) note_others(later);
    page_.newest_read = std::max(page_.newest_read, own(kLanes - 1));
    return doubtful;
  }

  /// The lanes that may be in a race. The others are noted.
  LaneMask scan_writes() {
    const bool old_writes = page_.newest_write < marks_.limit;
    const bool old_reads = page_.newest_read < marks_.limit;
    Mark* const writes = page_.writes();
    const Mark* const reads = page_.reads();
    const Mark* const others = page_.has_others() ? page_.others() : reads;
    page_.newest_write = std::max(page_.newest_write, own(kLanes - 1));
    return each_of(part_.lanes, [&](unsigned lane) {
      if (!old_writes && !is_after(lane, writes)) return true;
      if (!old_reads && !(is_after(lane, reads) && is_after(lane, others))) return true;
      writes[cell(lane)] = own(lane);
      return false;
    });
  }

 private:
  unsigned cell(unsigned lane) const { return part_.byte(lane) >> part_.lane_shift; }
  Mark own(unsigned lane) const { return marks_.own | static_cast<Mark>(lane) << kMarkLaneShift; }
  bool is_after(unsigned lane, const Mark* marks) const {
    const Mark earlier = marks[cell(lane)];
    return earlier < marks_.limit || doubt(marks_, own(lane), earlier) == 0;
  }
  void note_others(LaneMask lanes) {
    if (!page_.has_others()) page_.make_others();
    Mark* const others = page_.others();
    each_of(lanes, [&](unsigned lane) {
      others[cell(lane)] = own(lane);
      return false;
    });
  }

  CellPage& page_;
  const LanesPart part_;
  const Marks marks_;
};

/// The lanes that may be in a race; the others are noted.
inline LaneMask scan_lanes(CellPage& page, const LanesPart& part, const Marks& marks) {
  page.refine(std::min(part.lane_shift, kCoarsest));
  const unsigned shift = page.shift();
  if (shift == part.lane_shift) {
    SingleCells cells(page, part, marks);
    return (marks.own & kMarkWrite) != 0 ? cells.scan_writes() : cells.scan_reads();
  }
  const Mark count = Mark{1} << part.lane_shift >> shift;
  return each_of(part.lanes, [&](unsigned lane) {
    const LaneMarks own{marks.own | static_cast<Mark>(lane) << kMarkLaneShift};
    return !scan_cells(page, part.byte(lane) >> shift, count, own, marks);
  });
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
