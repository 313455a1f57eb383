// Release and acquire between the blocks of a launch: strong writes after a fence, and who read
// them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace cuda_twin {

class ReleaseLog;

/// The first `count` releases of each of these logs are ordered before.
struct Acquired {
  struct Part {
    const ReleaseLog* log = nullptr;  ///< lives as long as the launch
    std::size_t count = 0;
  };
  std::vector<Part> parts;

  bool empty() const { return parts.empty(); }
  void add(const ReleaseLog* log, std::size_t count);
  void join(const Acquired& other);
};

/// A fence: the accesses that are ordered before the strong writes after it.
struct Release {
  std::uint64_t block = 0;
  std::array<std::uint32_t, 32> epochs{};  ///< of the block's warps
  std::array<std::uint32_t, 32> clocks{};  ///< of the same warps, for their shared memory
  Acquired acquired;
};

/// Releases at one address, oldest first. Guarded by the lock of the launch's GlobalRaces.
class ReleaseLog {
 public:
  void add(std::shared_ptr<const Release> release);
  std::size_t size() const { return releases_.size(); }
  /// Whether one of the first `count` releases is of this block and covers its warp's epoch.
  bool covers(std::size_t count, std::uint64_t block, unsigned warp, std::uint32_t epoch) const;
  /// The last release of a block, or null.
  const Release* last_of(std::uint64_t block) const;
  const Release& operator[](std::size_t index) const { return *releases_[index]; }

 private:
  std::vector<std::shared_ptr<const Release>> releases_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> of_block_;
};

/// Whether an access is ordered before all that comes after these releases, through any chain.
bool covers(const Acquired& acquired, std::uint64_t block, unsigned warp, std::uint32_t epoch);

}  // namespace cuda_twin
