#include "cuda/instructions/spots.h"

#include <algorithm>
#include <bit>

#include "cuda/instructions/race_loops.h"
#include "cuda/races/check.h"
#include "cuda/races/global.h"
#include "cuda/races/shared.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

namespace {

using PtxSpace = ptx::Space;

struct Addresses {
  std::uint64_t at[kLanes];
  std::uint64_t low = 0, high = 0;  ///< of the lanes: bytes [low, high)
  std::uint64_t bits = 0;           ///< or of all
  unsigned count = 0;               ///< as Spots::count
};

/// Lanes 0 to n - 1 for some n, each `step` bytes, a power of two, after the one before; else 0.
unsigned run_length(const std::uint64_t (&at)[kLanes], LaneMask active, unsigned step) {
  const auto count = static_cast<unsigned>(std::popcount(active));
  if ((active & (active + 1)) != 0 || at[count - 1] - at[0] != std::uint64_t{count - 1} * step) {
    return 0;
  }
  // Neighbours are not compared: vectors that overlap the stored ones would have to wait.
  const auto shift = static_cast<unsigned>(std::countr_zero(step));
  std::uint64_t wrong = 0;
  if (active == kAllLanes) {
    for (std::uint64_t i = 0; i < kLanes; ++i) wrong |= at[i] ^ (at[0] + (i << shift));
  } else {
    for (std::uint64_t i = 0; i < count; ++i) wrong |= at[i] ^ (at[0] + (i << shift));
  }
  return wrong == 0 ? count : 0;
}

void measure(Addresses& addresses, LaneMask active, unsigned bytes) {
  addresses.count = run_length(addresses.at, active, bytes);
  if (addresses.count != 0) {
    addresses.low = addresses.at[0];
    addresses.high = addresses.at[0] + std::uint64_t{addresses.count} * bytes;
    addresses.bits = addresses.at[0];
    return;
  }
  std::uint64_t low = addresses.at[0], high = addresses.at[0], bits = 0;
  for (const std::uint64_t at : addresses.at) {
    low = std::min(low, at);
    high = std::max(high, at);
    bits |= at;
  }
  addresses.low = low;
  addresses.high = high + bytes;
  addresses.bits = bits;
}

/// Memory that may hold all lanes' accesses.
struct Area {
  std::byte* data = nullptr;  ///< of `begin`
  std::uint64_t begin = 0, end = 0;
  std::uint64_t* written = nullptr;
  const Extent* extent = nullptr;
};

Area area_of(Warp& warp, PtxSpace space, std::uint64_t low) {
  Block& block = *warp.block;
  if (space == PtxSpace::kShared) {
    return {block.shared.data(), 0, block.shared.size(),
            block.shared_written.empty() ? nullptr : block.shared_written.data(), nullptr};
  }
  const Extent* const extent = extent_of(warp, low, 1);
  if (extent == nullptr) return {};
  return {extent->data, extent->begin, extent->end(), extent->written, extent};
}

/// Different 32-byte pieces of memory that the lanes touch.
unsigned sectors_of(const Addresses& addresses, unsigned bytes) {
  if (addresses.count != 0) {
    return static_cast<unsigned>((addresses.high - 1) / 32 - addresses.low / 32 + 1);
  }
  const auto& at = addresses.at;
  std::uint64_t falls = 0;  // bit 63: an address is less than the one before
  std::uint64_t steps = 0;  // to another sector
  for (unsigned i = 1; i < kLanes; ++i) {
    falls |= at[i] - at[i - 1];
    steps += at[i] / 32 != at[i - 1] / 32 ? 1 : 0;
  }
  const bool in_one = bytes <= 32 && (addresses.bits & (bytes - 1)) == 0;
  if (falls >> 63 == 0 && in_one) return static_cast<unsigned>(steps + 1);
  std::uint64_t sorted[kLanes];
  std::copy(std::begin(at), std::end(at), sorted);
  std::sort(std::begin(sorted), std::end(sorted));
  unsigned count = 0;
  std::uint64_t seen = 0;  // sectors below this are counted
  for (const std::uint64_t address : sorted) {
    const std::uint64_t first = std::max(address / 32, seen);
    const std::uint64_t end = (address + bytes - 1) / 32 + 1;
    if (end > first) count += static_cast<unsigned>(end - first);
    seen = std::max(seen, end);
  }
  return count;
}

/// Different words in the bank that has most of them: passes of 32 banks of 4 bytes. Two aligned
/// accesses share all of their banks or none, so the first word of a lane stands for all.
unsigned passes_of(const Addresses& addresses, LaneMask lanes) {
  std::uint32_t words[kLanes][kLanes];
  unsigned used[kLanes] = {};
  unsigned passes = 0;
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto word = static_cast<std::uint32_t>(addresses.at[std::countr_zero(lanes)] / 4);
    const auto bank = static_cast<unsigned>(word % kLanes);
    const auto end = words[bank] + used[bank];
    if (std::find(words[bank], end, word) != end) continue;
    words[bank][used[bank]++] = word;
    passes = std::max(passes, used[bank]);
  }
  return passes;
}

/// Passes beyond the first one of each phase. A phase is that of the lanes whose accesses have 128
/// bytes: 8 lanes with 16 bytes each.
unsigned conflicts_of(const Addresses& addresses, LaneMask active, unsigned bytes) {
  if (addresses.count != 0 || (addresses.high - 1) / 4 - addresses.low / 4 < kLanes) return 0;
  const unsigned lanes = 128 / std::max(bytes, 4u);
  const LaneMask phase = kAllLanes >> (kLanes - lanes);
  unsigned extra = 0;
  for (unsigned first = 0; first < kLanes; first += lanes) {
    extra += std::max(passes_of(addresses, active & phase << first), 1u) - 1;
  }
  return extra;
}

void count(Warp& warp, PtxSpace space, const Addresses& addresses, LaneMask active, unsigned bytes,
           AccessFlags access) {
  LaunchCounts& counts = warp.block->counts;
  if (space == PtxSpace::kShared) {
    const std::uint64_t extra = conflicts_of(addresses, active, bytes);
    counts.bank_conflicts += extra;
    counts.worst_bank_conflict = std::max(counts.worst_bank_conflict, extra);
    return;
  }
  const std::uint64_t all = std::uint64_t{bytes} * static_cast<unsigned>(std::popcount(active));
  if ((access & kRead) != 0) counts.global_bytes_read += all;
  if ((access & kWrite) != 0) counts.global_bytes_written += all;
  counts.global_sectors += sectors_of(addresses, bytes);
}

/// Each lane by itself: local memory, parameters, mixed spaces, everything that is wrong.
bool resolve_each(Warp& warp, PtxSpace space, const Addresses& addresses, const MemoryExtra& extra,
                  AccessFlags access, LaneMask active, Spots& spots) {
  const unsigned bytes = extra.bytes * extra.vector;
  spots.count = 0;
  std::byte* some = nullptr;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    spots.at[lane] = nullptr;
    if ((active >> lane & 1) == 0) continue;
    Spot spot;
    if (!locate_and_check(warp, lane, space, addresses.at[lane], bytes, extra.bytes, access,
                          spot)) {
      return false;
    }
    spots.at[lane] = some = spot.data;
  }
  for (std::byte*& at : spots.at) at = at == nullptr ? some : at;
  return true;
}

bool all_lanes_written(const Area& area, const Addresses& addresses, LaneMask active,
                       unsigned bytes) {
  if (area.written == nullptr) return true;
  if (addresses.count != 0) {
    return all_written(area.written, addresses.low - area.begin, addresses.high - addresses.low);
  }
  constexpr std::uint64_t kNear = 4096;
  const std::uint64_t range = addresses.high - addresses.low;
  if (range <= kNear && all_written(area.written, addresses.low - area.begin, range)) return true;
  bool all = true;
  for (LaneMask left = active; left != 0; left &= left - 1) {
    const std::uint64_t bit = addresses.at[std::countr_zero(left)] - area.begin;
    // At most 32 bytes, aligned: their bits stand in one word.
    const std::uint64_t mask = ((std::uint64_t{1} << bytes) - 1) << bit % 64;
    const std::uint64_t word =
        std::atomic_ref(area.written[bit / 64]).load(std::memory_order_relaxed);
    all = all && (word & mask) == mask;
  }
  return all;
}

void set_lanes_written(const Area& area, const Addresses& addresses, LaneMask active,
                       unsigned bytes) {
  if (area.written == nullptr) return;
  if (addresses.count != 0) {
    return set_written(area.written, addresses.low - area.begin, addresses.high - addresses.low);
  }
  for (LaneMask left = active; left != 0; left &= left - 1) {
    set_written(area.written, addresses.at[std::countr_zero(left)] - area.begin, bytes);
  }
}

bool races_checked(const Warp& warp, PtxSpace space) {
  return space == PtxSpace::kShared ? warp.block->shared_races != nullptr
                                    : warp.block->launch->global_races != nullptr;
}

/// visit(byte, part) for the part of a run in each page of cells.
template <class Visit>
bool each_part(std::uint64_t begin, std::uint64_t bytes, unsigned lane_bytes, Visit visit) {
  RunPart part;
  part.lane_shift = static_cast<unsigned>(std::countr_zero(lane_bytes));
  while (part.before < bytes) {
    const std::uint64_t at = begin + part.before;
    part.first = static_cast<unsigned>(at % kCellPageBytes);
    part.bytes = static_cast<unsigned>(
        std::min<std::uint64_t>(bytes - part.before, kCellPageBytes - part.first));
    if (!visit(at, part)) return false;
    part.before += part.bytes;
  }
  return true;
}

/// Consecutive lanes. False if a lane may be in a race.
bool run_is_ordered(Warp& warp, const Area& area, const Addresses& addresses, unsigned bytes,
                    AccessFlags access) {
  const std::uint64_t all = addresses.high - addresses.low;
  if (area.extent == nullptr) {
    SharedRaces& races = *warp.block->shared_races;
    const Marks marks = races.marks(warp, access);
    return each_part(addresses.low, all, bytes, [&](std::uint64_t at, const RunPart& part) {
      return scan(races.page(at), part, marks);
    });
  }
  GlobalRaces& races = *warp.block->launch->global_races;
  if (area.extent->cells == nullptr || !races.fits()) return false;
  GlobalCells& cells = *area.extent->cells;
  const Marks marks = races.marks(warp, access);
  const std::uint64_t begin = addresses.low - area.begin + area.extent->cells_offset;
  return each_part(begin, all, bytes, [&](std::uint64_t at, const RunPart& part) {
    CellPage* const page = cells.page(at);
    if (page == nullptr) return true;
    const PageLock lock(*page);
    return !ready_page(cells, *page, at, races.generation()) || scan(*page, part, marks);
  });
}

/// Lanes whose accesses stand for those of all: of neighbours with one address the first and the
/// last.
LaneMask representatives(const Addresses& addresses, LaneMask active) {
  if (active != kAllLanes) return active;
  std::uint64_t near[kLanes] = {};  // 0: the address of the lane before
  for (unsigned i = 1; i < kLanes; ++i) near[i] = addresses.at[i] - addresses.at[i - 1];
  const LaneMask first = lanes_where([&](unsigned i) { return near[i] != 0; });
  return first | first >> 1 | LaneMask{1} | LaneMask{1} << (kLanes - 1);
}

/// visit(byte, part) for the lanes of each page of cells: a lane's access is aligned, and in one
/// page. The lanes for which it returns true.
template <class Visit>
LaneMask each_page(const Addresses& addresses, std::uint64_t base, unsigned bytes, LaneMask lanes,
                   Visit visit) {
  LanesPart part{addresses.at, base, 0, static_cast<unsigned>(std::countr_zero(bytes))};
  LaneMask found = 0;
  while (lanes != 0) {
    const std::uint64_t byte = addresses.at[std::countr_zero(lanes)] + base;
    part.lanes = lanes & lanes_where([&](unsigned i) {
                   return ((addresses.at[i] + base) ^ byte) < kCellPageBytes;
                 });
    lanes &= ~part.lanes;
    found |= visit(byte, part);
  }
  return found;
}

/// Those of `lanes` that may be in a race; the others are noted.
LaneMask scan_shared_lanes(Warp& warp, const Addresses& addresses, unsigned bytes,
                           AccessFlags access, LaneMask lanes) {
  SharedRaces& races = *warp.block->shared_races;
  const Marks marks = races.marks(warp, access);
  return each_page(addresses, 0, bytes, lanes, [&](std::uint64_t byte, const LanesPart& part) {
    return scan_lanes(races.page(byte), part, marks);
  });
}

LaneMask scan_global_lanes(Warp& warp, const Area& area, const Addresses& addresses, unsigned bytes,
                           AccessFlags access, LaneMask lanes) {
  GlobalRaces& races = *warp.block->launch->global_races;
  if (area.extent->cells == nullptr || !races.fits()) return lanes;
  GlobalCells& cells = *area.extent->cells;
  const Marks marks = races.marks(warp, access);
  const std::uint64_t base = area.extent->cells_offset - area.begin;
  return each_page(addresses, base, bytes, lanes, [&](std::uint64_t byte, const LanesPart& part) {
    CellPage* const page = cells.page(byte);
    if (page == nullptr) return LaneMask{0};
    const PageLock lock(*page);
    if (!ready_page(cells, *page, byte, races.generation())) return LaneMask{0};
    return scan_lanes(*page, part, marks);
  });
}

bool check_races(Warp& warp, PtxSpace space, const Area& area, const Addresses& addresses,
                 unsigned bytes, AccessFlags access, LaneMask active) {
  if (!races_checked(warp, space)) return true;
  const bool shared = space == PtxSpace::kShared;
  if (shared && (access & kWrite) != 0) warp.block->shared_races->begin_store(warp);
  LaneMask lanes = active;
  if ((access & kStrong) == 0) {
    if (addresses.count != 0 && run_is_ordered(warp, area, addresses, bytes, access)) return true;
    if ((access & kWrite) == 0) lanes = representatives(addresses, active);
    lanes = shared ? scan_shared_lanes(warp, addresses, bytes, access, lanes)
                   : scan_global_lanes(warp, area, addresses, bytes, access, lanes);
  }
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    Spot spot;
    spot.space = space;
    spot.address = addresses.at[lane];
    spot.extent = area.extent;
    spot.first_bit = spot.address - area.begin;
    spot.data = area.data + spot.first_bit;
    spot.written = area.written;
    if (!races::check(warp, lane, spot, bytes, access)) return false;
  }
  return true;
}

/// The space of generic addresses if all lanes agree; they become addresses within it.
PtxSpace common_space(Addresses& addresses) {
  std::uint64_t high = 0;
  for (const std::uint64_t at : addresses.at) high |= at;
  if (high < kSharedWindow) return PtxSpace::kGlobal;
  const std::uint64_t window = addresses.at[0] & ~(kWindowBytes - 1);
  for (const std::uint64_t at : addresses.at) {
    if ((at & ~(kWindowBytes - 1)) != window) return PtxSpace::kGeneric;
  }
  std::uint64_t first = addresses.at[0];
  const PtxSpace space = space_of_generic(first);
  const std::uint64_t base = addresses.at[0] - first;
  for (std::uint64_t& at : addresses.at) at -= base;
  return space;
}

bool allows(const Extent& extent, AccessFlags access, bool constant) {
  return !(extent.read_only && (access & kWrite) != 0) && !(constant && !extent.is_constant());
}

/// Whether all lanes have the same address.
bool is_one(const Addresses& addresses) {
  std::uint64_t differences = 0;
  for (const std::uint64_t at : addresses.at) differences |= at ^ addresses.at[0];
  return differences == 0;
}

bool is_fast(PtxSpace space) {
  return space == PtxSpace::kGlobal || space == PtxSpace::kShared;
}

}  // namespace

void addresses_of(Warp& warp, const Arg& base, std::int64_t offset, LaneMask active,
                  std::uint64_t (&to)[kLanes]) {
  const auto add = static_cast<std::uint64_t>(offset);
  if (base.bank == Bank::kNone) {
    std::fill(std::begin(to), std::end(to), add);
    return;
  }
  if (base.bytes == 4) {
    const auto* const from = lanes_of<std::uint32_t>(warp, base);
    const auto narrow = static_cast<std::uint32_t>(add);
    for (unsigned i = 0; i < kLanes; ++i) to[i] = from[i] + narrow;
  } else {
    const auto* const from = lanes_of<std::uint64_t>(warp, base);
    for (unsigned i = 0; i < kLanes; ++i) to[i] = from[i] + add;
  }
  if (active == kAllLanes) return;
  const std::uint64_t first = to[std::countr_zero(active)];
  for (unsigned i = 0; i < kLanes; ++i) to[i] = (active >> i & 1) != 0 ? to[i] : first;
}

bool check_shared_writes(Warp& warp, const std::uint64_t (&at)[kLanes], unsigned bytes,
                         LaneMask active) {
  Addresses addresses;
  const std::uint64_t first = at[std::countr_zero(active)];
  for (unsigned i = 0; i < kLanes; ++i) addresses.at[i] = (active >> i & 1) != 0 ? at[i] : first;
  measure(addresses, active, bytes);
  const Area area = area_of(warp, PtxSpace::kShared, first);
  return check_races(warp, PtxSpace::kShared, area, addresses, bytes, kWrite, active);
}

bool resolve(Warp& warp, const Arg& base, std::int64_t offset, const MemoryExtra& extra,
             AccessFlags access, LaneMask active, Spots& spots) {
  const unsigned bytes = extra.bytes * extra.vector;
  Addresses addresses;
  addresses_of(warp, base, offset, active, addresses.at);
  const bool constant = extra.space == PtxSpace::kConst;
  PtxSpace space = constant ? PtxSpace::kGlobal : extra.space;
  if (space == PtxSpace::kGeneric) space = common_space(addresses);
  if (!is_fast(space)) {
    // One lane stands for all that read the same parameter.
    if (space == PtxSpace::kParam && is_one(addresses)) active &= 0u - active;
    return resolve_each(warp, space, addresses, extra, access, active, spots);
  }
  measure(addresses, active, bytes);
  const Area area = area_of(warp, space, addresses.low);
  const bool inside = area.data != nullptr && addresses.low >= area.begin &&
                      addresses.high > addresses.low && addresses.high <= area.end &&
                      (addresses.bits & (bytes - 1)) == 0 &&
                      (area.extent == nullptr || allows(*area.extent, access, constant));
  if (!constant) count(warp, space, addresses, active, bytes, access);
  if (!inside) {
    if (constant) space = PtxSpace::kConst;
    return resolve_each(warp, space, addresses, extra, access, active, spots);
  }
  if ((access & kRead) != 0 && warp.block->launch->checks.initialised &&
      !all_lanes_written(area, addresses, active, bytes)) {
    return resolve_each(warp, space, addresses, extra, access, active, spots);
  }
  if (!check_races(warp, space, area, addresses, bytes, access, active)) return false;
  if ((access & kWrite) != 0) set_lanes_written(area, addresses, active, bytes);
  spots.count = addresses.count;
  spots.first = area.data + (addresses.low - area.begin);
  if (addresses.count == 0) {
    for (unsigned i = 0; i < kLanes; ++i) {
      spots.at[i] = area.data + (addresses.at[i] - area.begin);
    }
  }
  return true;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
