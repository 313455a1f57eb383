// Copies and fills as accesses to device memory.
#include <algorithm>

#include "cuda/races/global.h"
#include "cuda/races/races.h"
#include "cuda/races/update.h"

namespace cuda_twin::races {

namespace {

struct Access {
  const WorkOrder& works;
  std::uint64_t work, generation;
  Mark limit, own;

  bool is_after(Mark earlier) const {
    return earlier < limit || works.ordered(work_of(earlier, generation), work);
  }
  bool races_with(Mark earlier) const {
    return earlier >= limit && conflict(earlier, own) && !is_after(earlier);
  }
};

Mark race_in_cells(CellPage& page, std::uint64_t from, std::uint64_t to, const Access& access) {
  if (std::max(page.newest_write, page.newest_read) < access.limit) return 0;
  const auto first = static_cast<unsigned>(from >> page.shift());
  const auto end = static_cast<unsigned>((to + (1u << page.shift()) - 1) >> page.shift());
  for (unsigned i = first; i < end; ++i) {
    if (access.races_with(page.writes()[i])) return page.writes()[i];
    if (access.races_with(page.reads()[i])) return page.reads()[i];
    if (page.has_others() && access.races_with(page.others()[i])) return page.others()[i];
  }
  return 0;
}

Mark race_with_covers(const GlobalCells& cells, std::uint64_t begin, std::uint64_t end,
                      const Access& access) {
  return cells.find_cover([&](const GlobalCells::Cover& cover) {
    const bool overlaps = cover.begin < end && cover.end > begin;
    return overlaps && cover.generation == access.generation && access.races_with(cover.mark);
  });
}

/// In the pages that exist. `as_they_are`: without covers that a page has not taken over yet.
Mark race_in_pages(GlobalCells& cells, std::uint64_t begin, std::uint64_t end, const Access& access,
                   bool as_they_are) {
  for (std::uint64_t at = begin; at < end; at = (at / kCellPageBytes + 1) * kCellPageBytes) {
    CellPage* const page = cells.existing_page(at);
    if (page == nullptr) continue;
    const PageLock lock(*page);
    if (as_they_are ? page->generation != access.generation
                    : !ready_page(cells, *page, at, access.generation)) {
      continue;
    }
    const std::uint64_t base = at / kCellPageBytes * kCellPageBytes;
    const std::uint64_t to = std::min<std::uint64_t>(end - base, kCellPageBytes);
    if (const Mark race = race_in_cells(*page, at - base, to, access)) return race;
  }
  return 0;
}

constexpr std::uint64_t kShort = 8192;  // rows of 2-D copies: marked at once

/// Compares and marks each page under its lock.
Mark mark_cells(GlobalCells& cells, std::uint64_t begin, std::uint64_t end, const Access& access) {
  const auto ordered = [&](Mark earlier) { return access.is_after(earlier); };
  Mark race = race_with_covers(cells, begin, end, access);
  each_cell_page(begin, end - begin, [&](std::uint64_t first, unsigned count) {
    CellPage* const page = cells.page(first);
    if (page == nullptr) return;
    const PageLock lock(*page);
    if (!ready_page(cells, *page, first, access.generation)) return;
    const std::uint64_t from = first % kCellPageBytes;
    if (race == 0) race = race_in_cells(*page, from, from + count, access);
    update(*page, from, count, access.own, ordered);
  });
  return race;
}

/// The range as a whole. A kernel that makes or uses a page meanwhile sees the cover, or is seen.
Mark mark_range(GlobalCells& cells, std::uint64_t begin, std::uint64_t end, const Access& access) {
  Mark race = race_with_covers(cells, begin, end, access);
  if (race == 0) race = race_in_pages(cells, begin, end, access, false);
  cells.add_cover({begin, end, access.generation, access.own, access.limit},
                  [&](Mark earlier) { return access.is_after(earlier); });
  return race != 0 ? race : race_in_pages(cells, begin, end, access, true);
}

}  // namespace

std::string on_copy(const Space& space, std::uint64_t work, std::uint64_t address,
                    std::uint64_t bytes, bool write) {
  const ExtentPtr extent = space.find(address);
  if (extent == nullptr || extent->cells == nullptr || bytes == 0) return "";
  const WorkOrder& works = space.works();
  const Access access{works, work, generation_of(work), limit_before(works, work),
                      work_mark(work) | (write ? kMarkWrite : 0)};
  const std::uint64_t begin = address - extent->begin + extent->cells_offset;
  const std::uint64_t end = begin + std::min(bytes, extent->end() - address);
  const std::lock_guard lock(extent->cells->copying());
  const Mark race = end - begin < kShort ? mark_cells(*extent->cells, begin, end, access)
                                         : mark_range(*extent->cells, begin, end, access);
  if (race == 0) return "";
  return Space::place(*extent, address) + " (" + std::to_string(bytes) + " bytes): a " +
         ((race & kMarkWrite) != 0 ? "write" : "read") + " by " +
         works.describe(work_of(race, access.generation), race) + " is not ordered before this " +
         (write ? "write" : "read") + " by " + works.describe(work, 0) +
         ": no stream, event or wait between";
}

}  // namespace cuda_twin::races
