// The threads of devices that compute on the CPU: one pool, all of whose threads walk a run
// together.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/aligned_bytes.h"
#include "base/cpu_topology.h"
#include "shunt/error.h"
#include "shunt/options.h"

namespace shunt {

/// The work of a run, which each thread executes with its own number from 0.
class Task {
 public:
  virtual void run(int worker) = 0;

 protected:
  ~Task() = default;
};

/// Lets a thread wait for others: actively for a short while, then asleep.
class Waiting {
 public:
  explicit Waiting(int spins) : spins_(spins) {}
  /// Returns once `value` is `wanted`. The thread that stores it must notify.
  template <class T>
  void until(const std::atomic<T>& value, T wanted) const {
    until(value, wanted, [] {});
  }
  /// The same; calls `meanwhile` again and again while it waits actively. A call of it had better
  /// be as short as a pause.
  template <class T, class Meanwhile>
  void until(const std::atomic<T>& value, T wanted, Meanwhile&& meanwhile) const {
    T seen = value.load(std::memory_order_acquire);
    for (int i = 0; i < spins_ && seen != wanted; ++i) {
      meanwhile();
      pause();
      seen = value.load(std::memory_order_acquire);
    }
    while (seen != wanted) {
      value.wait(seen, std::memory_order_acquire);
      seen = value.load(std::memory_order_acquire);
    }
  }
  /// Returns once `value` is no longer `old`.
  void while_equal(const std::atomic<std::uint32_t>& value, std::uint32_t old) const;

 private:
  static void pause();
  int spins_;
};

/// Runs tasks on its threads, of which the caller is one. A run does not wait for a thread that has
/// not started when the caller is done: a task must be complete when its run(0) returns, with any
/// number of other threads. Concurrent runs queue.
class Pool {
 public:
  /// `threads` of at least 1, on the cores of `topology`. OutOfMemory or Io if the system refuses
  /// to start one.
  static Result<std::unique_ptr<Pool>> create(int threads,
                                              const CpuTopology& topology = read_cpu_topology(),
                                              PinThreads pin = PinThreads::kAuto);
  ~Pool();

  int threads() const { return threads_; }
  /// Whether its threads, but the caller's, are to stay on a core each.
  bool pinned() const { return !seats_.empty(); }
  /// How its threads wait: asleep at once if there are more threads than processors.
  const Waiting& waiting() const { return waiting_; }

  /// The holder may call run() and use the workers' scratch.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  /// The same without waiting: it owns nothing if another run has the pool. Not for a thread that
  /// is running a task.
  std::unique_lock<std::mutex> try_lock() { return std::unique_lock(mutex_, std::try_to_lock); }
  /// Whether the calling thread is running a task of this pool: lock() would never return.
  bool at_work() const { return at_work_ == this; }
  /// Runs the task on the caller's thread and on every other that comes in time, those numbered
  /// below `most`; returns when all have left it. 0: all threads. The caller holds lock().
  /// Allocates nothing.
  void run(Task& task, int most = 0);
  /// How many threads such a run has.
  int threads_of(int most) const { return most <= 0 ? threads_ : std::min(most, threads_); }
  /// Makes each worker's scratch at least `bytes` large. The caller holds lock().
  Status reserve_scratch(std::size_t bytes);
  /// Bytes of the scratch of all workers. Takes no lock.
  std::size_t scratch_bytes() const {
    return reserved_.load(std::memory_order_relaxed) * static_cast<std::size_t>(threads_);
  }
  /// Page-aligned memory of one worker, on the NUMA node of the thread that touches it first; null
  /// while nothing is reserved.
  std::byte* scratch(int worker) const;

 private:
  Pool(int threads, int spins, std::vector<std::vector<int>> seats)
      : threads_(threads), waiting_(spins), seats_(std::move(seats)) {}
  void work(int worker);
  void run_together(Task& task, int threads);

  static thread_local const Pool* at_work_;

  const int threads_;
  const Waiting waiting_;
  const std::vector<std::vector<int>> seats_;  // by thread (seats.h); empty: none is bound
  std::mutex mutex_;
  Task* task_ = nullptr;
  int task_threads_ = 0;                      // that take part in it
  std::atomic<std::uint32_t> generation_{0};  // goes up when there is a task
  // A worker counts itself in, then checks whether the task is still open. The caller closes the
  // task, then checks whether a worker is inside. Both use one total order, so that one of them
  // sees the other.
  std::atomic<bool> open_{false};
  std::atomic<std::uint32_t> inside_{0};
  std::atomic<bool> stopping_{false};
  std::vector<AlignedBytes> scratch_;      // by worker
  std::atomic<std::size_t> reserved_ = 0;  // bytes of each
  std::vector<std::thread> workers_;
};

/// Invalid on a thread that is running a task of the pool: it would wait for itself.
Status expect_outside(const Pool& pool);
/// Pool::reserve_scratch() for a caller without the lock. Invalid on a thread that is at work.
Status reserve_scratch(Pool& pool, std::size_t bytes);

/// for_each_item() for a caller that holds Pool::lock().
template <class Work>
void for_each_item_locked(Pool& pool, std::int64_t count, const Work& work, int most = 0) {
  struct Items final : Task {
    Items(Pool& of, std::int64_t items, const Work& each) : pool(of), count(items), work(each) {}
    void run(int worker) override {
      for (std::int64_t item = next++; item < count; item = next++) {
        work(item, pool.scratch(worker));
      }
    }
    Pool& pool;
    const std::int64_t count;
    const Work& work;
    std::atomic<std::int64_t> next{0};
  };
  Items items(pool, count, work);
  pool.run(items, count > 1 ? most : 1);
}

/// Calls work(item, scratch) for each item from 0 to count - 1, on all threads of the pool, or on
/// at most `most` of them: they take items as they come. `scratch` is the thread's own. Invalid on
/// a thread that is at work.
template <class Work>
Status for_each_item(Pool& pool, std::int64_t count, const Work& work, int most = 0) {
  SHUNT_TRY(expect_outside(pool));
  const auto lock = pool.lock();
  for_each_item_locked(pool, count, work, most);
  return ok();
}

}  // namespace shunt
