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

/// Instructions after which a block that has not ended may wait for another one, which is started.
constexpr std::uint64_t kPatience = std::uint64_t{1} << 18;
/// Instructions of a host thread after a block failed. An earlier block may fail, too, and then its
/// error counts; but it may also wait for the one that failed.
constexpr std::uint64_t kAfterFailure = std::uint64_t{1} << 19;
/// Of one block, before another one has its turn. Blocks that run together may spin until another
/// one stores something.
constexpr std::uint64_t kSlice = std::uint64_t{1} << 11;
/// Instructions after which a launch is worth more host threads.
constexpr std::uint64_t kWorthThreads = 100'000;
constexpr std::size_t kMostResident = 4096;

/// The blocks that one host thread runs.
class Worker {
 public:
  explicit Worker(Grid& grid) : grid_(grid) {}

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
    for (std::size_t i = 0; i < running_.size();) {
      const bool ended = run(*running_[i], budget);
      if (ended) {
        idle_.push_back(std::move(running_[i]));
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    start_companion();
  }

 private:
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

  /// True if the block ended.
  bool run(Runner& runner, std::uint64_t budget) {
    const std::uint64_t before = runner.executed();
    const Runner::Outcome outcome = runner.run(budget);
    const std::uint64_t executed = runner.executed() - before;
    executed_ += executed;
    if (outcome != Runner::Outcome::kMore) return true;
    if (!grid_.has_failed()) return false;
    after_failure_ += executed;
    return after_failure_ > kAfterFailure;
  }

  void start_companion() {
    if (running_.empty()) return;
    const auto waits = [](const auto& runner) { return runner->executed() >= kPatience; };
    if (std::all_of(running_.begin(), running_.end(), waits)) start_block();
  }

  Grid& grid_;
  std::vector<std::unique_ptr<Runner>> running_, idle_;
  std::uint64_t executed_ = 0;
  std::uint64_t after_failure_ = 0;  ///< those of them after a block failed
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
