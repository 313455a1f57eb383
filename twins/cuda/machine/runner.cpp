#include "cuda/machine/runner.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "cuda/machine/calls.h"
#include "cuda/machine/deadlock.h"
#include "cuda/machine/grid.h"
#include "cuda/machine/groups.h"
#include "cuda/machine/loop.h"
#include "cuda/races/races.h"

namespace cuda_twin {
namespace {

constexpr std::uint64_t kQuantum = 8192, kLeastQuantum = 256;
constexpr std::uint64_t kRecursionBytes = 2048;                 ///< of a thread, at least
constexpr std::uint64_t kMostStack = std::uint64_t{512} << 10;  ///< of a thread
constexpr std::byte kPoison{0xFF};  ///< what nothing has written: not a number

std::size_t words(std::size_t bytes) {
  return (bytes + 63) / 64;
}

/// The program does not say how deep a recursion is.
std::uint64_t local_bytes_of_a_lane(const Launch& launch) {
  const std::uint64_t known = (launch.kernel->local_bytes + 15) / 16 * 16;
  if (!launch.kernel->is_recursive) return known;
  return std::max(known + kRecursionBytes, std::min(launch.stack_bytes, kMostStack) / 16 * 16);
}

LaneMask first_lanes(std::uint32_t count) {
  return count >= kLanes ? kAllLanes : (LaneMask{1} << count) - 1;
}

}  // namespace

Runner::Runner(Grid& grid) : grid_(grid), random_(grid.launch().seed) {
  const Launch& launch = grid.launch();
  block_.launch = &launch;
  block_.grid = &grid;
  make_warps();
  const std::size_t shared =
      static_cast<std::size_t>(launch.kernel->static_shared) + launch.dynamic_shared;
  block_.shared.resize(shared);
  block_.shared_written.resize(words(shared));
  block_.local_stride = local_bytes_of_a_lane(launch);
  const std::size_t local = block_.warps.size() * kLanes * block_.local_stride;
  block_.local.resize(local);
  block_.local_written.resize(words(local));
}

void Runner::end_block() {
  LaunchCounts& counts = block_.counts;
  if (counts.blocks != 0 && counts.global_bytes_written == written_before_)
    ++counts.blocks_without_write;
  written_before_ = counts.global_bytes_written;
}

Runner::~Runner() {
  end_block();
  grid_.add(block_.counts);
}

void Runner::make_warps() {
  const Dim3& size = grid_.launch().block;
  const std::uint32_t threads = size.x * size.y * size.z;
  for (std::uint32_t first = 0; first < threads; first += kLanes) {
    auto warp = std::make_unique<Warp>();
    warp->block = &block_;
    warp->index = first / kLanes;
    warp->lanes = first_lanes(threads - first);
    warp->banks[static_cast<unsigned>(Bank::kConstants)] =
        const_cast<std::byte*>(grid_.launch().program->constant_bank());
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t thread = first + lane;
      warp->tid[0][lane] = thread % size.x;
      warp->tid[1][lane] = thread / size.x % size.y;
      warp->tid[2][lane] = thread / size.x / size.y;
    }
    block_.warps.push_back(std::move(warp));
  }
  order_.resize(block_.warps.size());
  std::iota(order_.begin(), order_.end(), 0u);
}

void Runner::clear_memory() {
  const auto clear = [](std::vector<std::byte>& bytes, std::vector<std::uint64_t>& written) {
    if (bytes.empty()) return;
    std::memset(bytes.data(), static_cast<int>(kPoison), bytes.size());
    std::memset(written.data(), 0, written.size() * sizeof(written[0]));
  };
  clear(block_.shared, block_.shared_written);
  // A call clears its own frame.
  const std::uint64_t own = grid_.launch().kernel->function.local_bytes;
  if (own == block_.local_stride) return clear(block_.local, block_.local_written);
  for (std::uint64_t at = 0; own != 0 && at < block_.local.size(); at += block_.local_stride) {
    std::memset(block_.local.data() + at, static_cast<int>(kPoison), own);
    clear_written(block_.local_written.data(), at, own);
  }
}

void Runner::start_warp(Warp& warp) {
  const FunctionInfo& function = grid_.launch().kernel->function;
  warp.exited = 0;
  warp.copies.reset();
  warp.instructions = 0;
  warp.at_cluster = 0;
  warp.reschedule = warp.yield = warp.waits = false;
  warp.polls = Polls{};
  warp.groups[0] = Group{};
  warp.groups[0].op = function.first_op;
  warp.groups[0].lanes = warp.lanes;
  warp.group_count = 1;
  enter_kernel(warp, function);
}

void Runner::start(std::uint64_t position) {
  end_block();
  const Launch& launch = grid_.launch();
  const std::uint64_t number = grid_.block_at(position);
  block_.order = position;
  block_.linear_index = number;
  const std::uint64_t plane = std::uint64_t{launch.grid.x} * launch.grid.y;
  block_.index.x = static_cast<std::uint32_t>(number % launch.grid.x);
  block_.index.y = static_cast<std::uint32_t>(number % plane / launch.grid.x);
  block_.index.z = static_cast<std::uint32_t>(number / plane);
  block_.alive = launch.block.x * launch.block.y * launch.block.z;
  block_.failed = false;
  ++block_.counts.blocks;
  executed_ = 0;
  polled_ = 0;
  for (Barrier& barrier : block_.barriers) barrier = Barrier{};
  clear_memory();
  for (const auto& warp : block_.warps) start_warp(*warp);
  races::begin_block(block_, races_);
  if (launch.seed == 0) return;
  random_ = Random(launch.seed ^ (number << 20));
  random_.shuffle(order_);
}

/// Instructions of one warp before the next one has its turn.
std::uint64_t Runner::quantum(std::uint64_t slice) {
  const std::uint64_t most = std::min(kQuantum, std::max(slice / order_.size(), kLeastQuantum));
  return grid_.launch().seed == 0 ? most : 64 + random_.below(most);
}

/// One slice of each warp. False if none could go on.
bool Runner::run_each_warp(std::uint64_t slice, std::uint64_t& budget) {
  bool went_on = false;
  bool works = false;
  for (const std::uint32_t index : order_) {
    Warp& warp = *block_.warps[index];
    if (warp.group_count == 0) continue;
    const std::uint64_t allowed = grid_.allowance(quantum(slice));
    if (allowed == 0) {
      fault(warp, 702, 0, "the launch executed more instructions than CUDA_TWIN_INSTRUCTIONS");
      return true;
    }
    const std::uint64_t done = run_warp(warp, allowed);
    grid_.executed(done);
    executed_ += done;
    budget -= std::min(budget, done);
    went_on = went_on || done != 0;
    works = works || (done != 0 && !warp.waits);
    if (block_.failed) return true;
  }
  polled_ = went_on && !works ? polled_ + 1 : 0;
  return went_on;
}

Runner::Outcome Runner::run(std::uint64_t slice) {
  std::uint64_t budget = slice;
  while (budget != 0) {
    if (grid_.is_over(block_.order)) return Outcome::kFailed;
    const bool went_on = run_each_warp(slice, budget);
    if (block_.failed) return Outcome::kFailed;
    if (block_.alive == 0) return Outcome::kEnded;
    if (!went_on && !break_deadlock(block_)) return Outcome::kFailed;
    if (waits()) return Outcome::kMore;
  }
  return Outcome::kMore;
}

}  // namespace cuda_twin
