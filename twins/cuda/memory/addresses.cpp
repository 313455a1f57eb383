// Where device addresses come from.
#include <sys/mman.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

#include "cuda/memory/storage.h"

namespace cuda_twin {

namespace {

constexpr std::uint64_t kRegionBytes = std::uint64_t{64} << 30;
constexpr std::uint64_t kSmallestRegion = std::uint64_t{64} << 20;
constexpr std::uint64_t kRegionAlignment = std::uint64_t{2} << 20;
constexpr std::size_t kMostRegions = 64;
// An access a little past the end of a range is in no other range.
constexpr std::uint64_t kGap = 4096;

struct Region {
  std::uint64_t begin = 0, end = 0, next = 0;
  std::size_t live = 0;
};

std::uint64_t aligned(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) & ~(to - 1);
}

void* reserve_addresses(std::uint64_t bytes) {
  void* const at =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

struct AddressRanges::State {
  std::mutex mutex;
  std::deque<Region> regions;                 ///< the last one gives out addresses
  std::map<std::uint64_t, std::uint64_t> of;  ///< begin of the region of each range given out

  std::uint64_t cut(Region& region, std::uint64_t bytes, std::uint64_t alignment) {
    const std::uint64_t at = aligned(region.next, alignment);
    if (at >= region.end || bytes + kGap > region.end - at) return 0;
    region.next = at + bytes + kGap;
    ++region.live;
    of[at] = region.begin;
    return at;
  }

  bool grow(std::uint64_t least) {
    for (std::uint64_t bytes = std::max(kRegionBytes, least); bytes >= least; bytes /= 2) {
      if (void* const at = reserve_addresses(bytes)) {
        const auto begin = reinterpret_cast<std::uint64_t>(at);
        regions.push_back({begin, begin + bytes, begin + kGap, 0});
        return true;
      }
      if (bytes / 2 < kSmallestRegion) break;
    }
    return false;
  }

  void shrink() {
    while (regions.size() > kMostRegions) {
      const auto empty = std::find_if(regions.begin(), regions.end() - 1,
                                      [](const Region& region) { return region.live == 0; });
      if (empty == regions.end() - 1) return;
      ::munmap(reinterpret_cast<void*>(empty->begin), empty->end - empty->begin);
      regions.erase(empty);
    }
  }
};

AddressRanges::AddressRanges() : state_(std::make_unique<State>()) {}

AddressRanges::~AddressRanges() {
  for (const Region& region : state_->regions) {
    ::munmap(reinterpret_cast<void*>(region.begin), region.end - region.begin);
  }
}

std::uint64_t AddressRanges::take(std::uint64_t bytes, std::uint64_t alignment) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 46;
  if (bytes > kMost || alignment > kMost) return 0;
  const std::lock_guard lock(state_->mutex);
  if (!state_->regions.empty()) {
    if (const auto at = state_->cut(state_->regions.back(), bytes, alignment)) return at;
  }
  if (!state_->grow(bytes + alignment + 3 * kGap + kRegionAlignment)) return 0;
  const auto at = state_->cut(state_->regions.back(), bytes, alignment);
  state_->shrink();
  return at;
}

void AddressRanges::give_back(std::uint64_t address) {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->of.find(address);
  if (found == state_->of.end()) return;
  for (Region& region : state_->regions) {
    if (region.begin == found->second) --region.live;
  }
  state_->of.erase(found);
}

}  // namespace cuda_twin
