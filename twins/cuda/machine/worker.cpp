#include "cuda/machine/worker.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "common/arithmetic.h"
#include "cuda/machine/runner.h"

namespace cuda_twin {
namespace {

/// Instructions after which a block that has not ended may wait for another one, which is started,
/// even if it does not look as if it waits.
constexpr std::uint64_t kPatience = std::uint64_t{1} << 18;
/// Instructions of a host thread after a block failed. An earlier block may fail, too, and then its
/// error counts; but it may also wait for the one that failed.
constexpr std::uint64_t kAfterFailure = std::uint64_t{1} << 19;
/// Of one block, before another one has its turn. Blocks that run together may spin until another
/// one stores something.
constexpr std::uint64_t kSlice = std::uint64_t{1} << 11;
/// Instructions after which a launch is worth more host threads.
constexpr std::uint64_t kWorthThreads = 100'000;
constexpr std::uint64_t kMostResident = 4096;
/// Rounds in which all blocks wait, after which those that wait for a block that failed end.
constexpr std::uint64_t kMostIdleRounds = 1000;

/// The blocks that one host thread runs.
class Worker {
 public:
  explicit Worker(Grid& grid) : grid_(grid), most_together_(most_together(grid.launch())) {}

  bool is_done() const { return done_; }
  std::uint64_t executed() const { return executed_; }

  /// Runs some blocks, or parts of them.
  void step() {
    if (running_.empty() && !start_block()) {
      done_ = true;
      return;
    }
    while (grid_.launch().cooperative && start_block()) {
    }
    const std::uint64_t budget = running_.size() == 1 ? kPatience : kSlice;
    bool works = false;
    for (std::size_t i = 0; i < running_.size();) {
      const std::size_t before = running_.size();
      works = run(i, budget) || works;
      if (running_.size() == before) ++i;
    }
    // Blocks that wait for others: the device runs as many at once as it has room for.
    while (!works && running_.size() < most_together_ && start_block()) {
      works = run(running_.size() - 1, kSlice);
    }
    idle_rounds_ = works ? 0 : idle_rounds_ + 1;
    start_companion();
    if (!works) std::this_thread::yield();
  }

 private:
  /// An order that a seed picked may start last the block that all others wait for.
  static std::uint64_t most_together(const Launch& launch) {
    if (launch.seed != 0) return kMostResident;
    const std::uint64_t here = launch.resident_blocks / std::max(1U, launch.host_threads);
    return std::clamp(here, std::uint64_t{1}, kMostResident);
  }

  bool start_block() {
    if (grid_.has_failed() || grid_.all_taken() || running_.size() >= kMostResident) return false;
    const std::uint64_t position = grid_.take();
    if (position >= grid_.blocks()) return false;
    if (idle_.empty()) idle_.push_back(std::make_unique<Runner>(grid_));
    running_.push_back(std::move(idle_.back()));
    idle_.pop_back();
    running_.back()->start(position);
    return true;
  }

  /// Runs a part of block `i`, which is no longer in running_ if it ended. False if it only waits.
  bool run(std::size_t i, std::uint64_t budget) {
    Runner& runner = *running_[i];
    const std::uint64_t before = runner.executed();
    const Runner::Outcome outcome = runner.run(budget);
    const std::uint64_t executed = runner.executed() - before;
    executed_ += executed;
    if (grid_.has_failed()) after_failure_ += executed;
    if (outcome == Runner::Outcome::kMore && !is_hopeless()) return !runner.waits();
    idle_.push_back(std::move(running_[i]));
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }

  /// The blocks may wait for one that failed.
  bool is_hopeless() const {
    return after_failure_ > kAfterFailure || (grid_.has_failed() && idle_rounds_ > kMostIdleRounds);
  }

  void start_companion() {
    if (running_.empty()) return;
    const auto waits = [](const auto& runner) { return runner->executed() >= kPatience; };
    if (std::all_of(running_.begin(), running_.end(), waits)) start_block();
  }

  Grid& grid_;
  std::uint64_t most_together_;
  std::vector<std::unique_ptr<Runner>> running_, idle_;
  std::uint64_t executed_ = 0;
  std::uint64_t after_failure_ = 0;  ///< those of them after a block failed
  std::uint64_t idle_rounds_ = 0;    ///< in sequence, in which all blocks only waited
  bool done_ = false;
};

/// Of an exception in a helper: memory that ran out.
struct Helpers {
  std::vector<std::thread> threads;
  std::atomic<bool> out_of_memory{false};

  ~Helpers() { join(); }
  void join() {
    for (std::thread& thread : threads) thread.join();
    threads.clear();
  }
  void help(Grid& grid) noexcept {
    const twin::DefaultArithmetic arithmetic;
    try {
      Worker worker(grid);
      while (!worker.is_done()) worker.step();
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  }
  void start(Grid& grid, unsigned count) {
    try {
      for (unsigned i = 0; i < count; ++i) threads.emplace_back([this, &grid] { help(grid); });
    } catch (const std::system_error&) {
      return;  // the host has no more threads
    }
  }
};

}  // namespace

void run_blocks(Grid& grid) {
  const Launch& launch = grid.launch();
  const bool alone = launch.host_threads <= 1 || launch.cooperative;
  Helpers helpers;
  Worker worker(grid);
  bool started = alone;
  while (!worker.is_done()) {
    worker.step();
    if (started || worker.executed() < kWorthThreads || grid.all_taken()) continue;
    started = true;
    helpers.start(grid, launch.host_threads - 1);
  }
  helpers.join();
  if (helpers.out_of_memory) throw std::bad_alloc();
}

}  // namespace cuda_twin
