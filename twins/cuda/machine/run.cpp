#include "cuda/machine/grid.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <thread>
#include <tuple>

#include "common/arithmetic.h"
#include "cuda/machine/random.h"
#include "cuda/machine/worker.h"
#include "cuda/races/races.h"

namespace cuda_twin {
namespace {

constexpr std::uint64_t kMostShuffled = std::uint64_t{1} << 22;
constexpr std::size_t kMostFindings = 1000;
constexpr std::uint64_t kMostThreads = 1024;

}  // namespace

Grid::Grid(const Launch& launch) : launch_(launch), races_(races::begin_launch(launch)) {
  launch_.global_races = races_.get();
  blocks_ = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  if (launch.seed == 0 || blocks_ < 2 || blocks_ > kMostShuffled) return;
  order_.resize(static_cast<std::size_t>(blocks_));
  std::iota(order_.begin(), order_.end(), 0u);
  Random(launch.seed).shuffle(order_);
}

void Grid::fail(Block& block, int code, std::string reason) {
  const std::lock_guard lock(mutex_);
  if (block.failed) return;
  block.failed = true;
  if (block.order >= failed_at_.load(std::memory_order_relaxed)) return;
  failed_at_.store(block.order, std::memory_order_relaxed);
  code_ = code;
  reason_ = std::move(reason);
}

bool Grid::find(Block& block, std::uint32_t op, const char* check, const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    const auto key = std::make_pair(std::string(check), op);
    const auto at = findings_.find(key);
    if (at != findings_.end()) {
      if (block.order < at->second.position) at->second = {block.order, text};
    } else if (findings_.size() < kMostFindings) {
      findings_[key] = {block.order, text};
    }
  }
  if (!launch_.checks.stop) return true;
  fail(block, 719, std::string(check) + ": " + text);
  return false;
}

std::uint64_t Grid::allowance(std::uint64_t wanted) const {
  if (launch_.instruction_limit == 0) return wanted;
  const std::uint64_t done = instructions_.load(std::memory_order_relaxed);
  return done >= launch_.instruction_limit ? 0 : std::min(wanted, launch_.instruction_limit - done);
}

void Grid::add(const LaunchCounts& counts) {
  const std::lock_guard lock(mutex_);
  counts_.blocks += counts.blocks;
  for (unsigned i = 0; i < kOpKinds; ++i) counts_.instructions[i] += counts.instructions[i];
  counts_.lane_instructions += counts.lane_instructions;
  counts_.global_bytes_read += counts.global_bytes_read;
  counts_.global_bytes_written += counts.global_bytes_written;
  counts_.global_sectors += counts.global_sectors;
  counts_.bank_conflicts += counts.bank_conflicts;
  counts_.worst_bank_conflict = std::max(counts_.worst_bank_conflict, counts.worst_bank_conflict);
  counts_.blocks_without_write += counts.blocks_without_write;
}

LaunchResult Grid::result() {
  const std::lock_guard lock(mutex_);
  LaunchResult result;
  result.code = code_;
  result.reason = reason_;
  result.counts = counts_;
  std::vector<std::tuple<std::uint64_t, std::uint32_t, std::string, std::string>> sorted;
  sorted.reserve(findings_.size());
  for (const auto& [key, found] : findings_) {
    sorted.emplace_back(found.position, key.second, key.first, found.text);
  }
  std::sort(sorted.begin(), sorted.end());
  for (auto& [position, op, check, text] : sorted) result.findings.push_back({check, text});
  return result;
}

LaunchResult run(const Launch& launch) {
  const twin::DefaultArithmetic arithmetic;
  const std::uint64_t threads = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  const std::uint32_t longest = std::max({launch.block.x, launch.block.y, launch.block.z});
  if (threads == 0 || threads > kMostThreads || longest > kMostThreads) {
    LaunchResult result;
    result.code = 1;
    result.reason = "a block has 1 to 1024 threads";
    return result;
  }
  try {
    Grid grid(launch);
    run_blocks(grid);
    return grid.result();
  } catch (const std::bad_alloc&) {
    LaunchResult result;
    result.code = 2;
    result.reason =
        "the host has no memory for the blocks of kernel " + launch.kernel->function.name;
    return result;
  }
}

}  // namespace cuda_twin
