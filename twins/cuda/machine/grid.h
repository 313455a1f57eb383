// A launch while it runs: the order of its blocks, its errors and findings.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cuda/machine/block.h"

namespace cuda_twin {

/// `line 12 "add.s32 %r1, %r2, %r3;"` of an op.
std::string line_text(const Program& program, std::uint32_t op);

/// Shared by the host threads of one launch. Where blocks fail or report, those that come first in
/// the order count, so that the number of host threads makes no difference.
class Grid {
 public:
  explicit Grid(const Launch& launch);
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  const Launch& launch() const { return launch_; }
  std::uint64_t blocks() const { return order_.empty() ? blocks_ : order_.size(); }
  /// The block at a position of the order.
  std::uint64_t block_at(std::uint64_t position) const {
    return order_.empty() ? position : order_[position];
  }
  /// The next position, or blocks() and above when all are taken.
  std::uint64_t take() { return next_.fetch_add(1, std::memory_order_relaxed); }
  bool all_taken() const { return next_.load(std::memory_order_relaxed) >= blocks(); }
  bool has_failed() const { return failed_at_.load(std::memory_order_relaxed) != kNone; }
  /// A block that comes before `position` failed.
  bool is_over(std::uint64_t position) const {
    return failed_at_.load(std::memory_order_relaxed) < position;
  }

  void fail(Block& block, int code, std::string reason);
  /// False if the finding ends the launch.
  bool find(Block& block, std::uint32_t op, const char* check, const std::string& text);

  /// Instructions that a slice may execute; 0 when the limit is reached.
  std::uint64_t allowance(std::uint64_t wanted) const;
  void executed(std::uint64_t instructions) {
    instructions_.fetch_add(instructions, std::memory_order_relaxed);
  }
  void add(const LaunchCounts& counts);
  LaunchResult result();

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  Launch launch_;
  std::shared_ptr<GlobalRaces> races_;
  std::uint64_t blocks_ = 0;
  std::vector<std::uint32_t> order_;  ///< empty: in order
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> failed_at_{kNone};
  std::atomic<std::uint64_t> instructions_{0};
  std::mutex mutex_;
  int code_ = 0;
  std::string reason_;
  struct Found {
    std::uint64_t position = 0;
    std::string text;
  };
  std::map<std::pair<std::string, std::uint32_t>, Found> findings_;  ///< by check and op
  LaunchCounts counts_;
};

}  // namespace cuda_twin
