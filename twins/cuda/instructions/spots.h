// Where the lanes of one instruction access memory: all checks done, and whether the lanes form one
// run of consecutive elements.
#pragma once

#include "cuda/instructions/lanes.h"
#include "cuda/memory/access.h"

namespace cuda_twin {

/// Op::extra of instructions that access memory.
struct MemoryExtra {
  ptx::Space space = ptx::Space::kGeneric;
  bool strong = false;  ///< volatile, relaxed, acquire, release
  bool acquire = false;
  bool release = false;
  unsigned bytes = 4;   ///< of one element
  unsigned vector = 1;  ///< elements of a lane

  std::uint32_t packed() const {
    return static_cast<std::uint32_t>(space) | std::uint32_t{strong} << 5 |
           std::uint32_t{acquire} << 6 | std::uint32_t{release} << 7 | bytes << 8 | vector << 16;
  }
  /// kRead or kWrite, or both, with the strength.
  AccessFlags access(AccessFlags direction) const {
    return direction | (strong ? kStrong : 0) | (acquire ? kAcquire : 0) | (release ? kRelease : 0);
  }
  static MemoryExtra of(const Op& op) {
    MemoryExtra extra;
    extra.space = static_cast<ptx::Space>(op.extra & 15);
    extra.strong = (op.extra >> 5 & 1) != 0;
    extra.acquire = (op.extra >> 6 & 1) != 0;
    extra.release = (op.extra >> 7 & 1) != 0;
    extra.bytes = op.extra >> 8 & 0xFF;
    extra.vector = op.extra >> 16 & 0xFF;
    return extra;
  }
};

}  // namespace cuda_twin

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// `count` > 0: lanes 0 to count - 1 are the active ones, and lane i accesses `first` plus i times
/// the bytes of a lane. Else lane i accesses at[i]; those of inactive lanes are valid too.
struct Spots {
  unsigned count = 0;
  std::byte* first = nullptr;
  alignas(64) std::byte* at[kLanes];
};

/// The addresses of all lanes. An inactive lane has that of the first active one.
void addresses_of(Warp& warp, const Arg& base, std::int64_t offset, LaneMask active,
                  std::uint64_t (&to)[kLanes]);

/// Finds the storage of an access by `active` lanes to extra.bytes * extra.vector bytes each, and
/// does all checks. False if the kernel ends.
bool resolve(Warp& warp, const Arg& base, std::int64_t offset, const MemoryExtra& extra,
             AccessFlags access, LaneMask active, Spots& spots);

/// The check of races alone, for stores to shared addresses that resolve() has seen before.
bool check_shared_writes(Warp& warp, const std::uint64_t (&at)[kLanes], unsigned bytes,
                         LaneMask active);

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
