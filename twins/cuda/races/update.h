// Compares an access of one lane with cells, and puts its mark there.
#pragma once

#include <algorithm>
#include <bit>

#include "cuda/memory/access.h"
#include "cuda/races/cells.h"

namespace cuda_twin {

inline Mark kind_of(AccessFlags access) {
  return ((access & kWrite) != 0 ? kMarkWrite : 0) | ((access & kStrong) != 0 ? kMarkStrong : 0);
}

}  // namespace cuda_twin

namespace cuda_twin::races {

/// visit(first byte, bytes) for the part of a range in each page.
template <class Visit>
void each_cell_page(std::uint64_t begin, std::uint64_t bytes, Visit visit) {
  while (bytes > 0) {
    const std::uint64_t in_page = kCellPageBytes - begin % kCellPageBytes;
    const std::uint64_t count = std::min(bytes, in_page);
    visit(begin, static_cast<unsigned>(count));
    begin += count;
    bytes -= count;
  }
}

/// Puts `own` into the cells of bytes [first, first + count) of the page. The mark of an access
/// that is a race with it, or 0. `ordered` says so of an earlier access.
template <class Ordered>
Mark update(CellPage& page, std::uint64_t first, unsigned count, Mark own, Ordered ordered) {
  page.refine(cell_shift_for(first, first + count));
  const unsigned shift = page.shift();
  const auto begin = static_cast<unsigned>(first >> shift);
  const auto end = static_cast<unsigned>((first + count) >> shift);
  Mark race = 0;
  const auto look = [&](Mark earlier) {
    if (earlier != 0 && conflict(earlier, own) && !ordered(earlier)) race = earlier;
  };
  for (unsigned i = begin; i < end; ++i) {
    look(page.writes()[i]);
    look(page.reads()[i]);
    if (page.has_others()) look(page.others()[i]);
    if ((own & kMarkWrite) != 0) {
      page.writes()[i] = own;
      continue;
    }
    Mark& read = page.reads()[i];
    if (read == 0 || ordered(read)) {
      read = own;
    } else {
      if (!page.has_others()) page.make_others();
      page.others()[i] = own;
    }
  }
  page.note(own);
  return race;
}

}  // namespace cuda_twin::races
