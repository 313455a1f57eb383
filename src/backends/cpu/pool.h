// The threads of the CPU device: one pool, all of whose threads walk a run together.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "shunt/error.h"

namespace shunt::cpu {

/// What all threads of a run execute, each with its own number from 0.
class Task {
 public:
  virtual void run(int worker) = 0;

 protected:
  ~Task() = default;
};

/// Where threads wait for each other. Waiting is active for a short while, then sleeps.
class Barrier {
 public:
  /// `count` threads take part; `spins` is how often to look before sleeping.
  void wait(int count, int spins);

 private:
  std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::uint32_t> generation_{0};
};

/// Runs tasks on all its threads, of which the caller is one. Runs that come at the same time
/// queue.
class Pool {
 public:
  /// `threads` of at least 1. OutOfMemory or Io if the system refuses to start one.
  static Result<std::unique_ptr<Pool>> create(int threads);
  ~Pool();

  int threads() const { return threads_; }
  /// How often a waiting thread looks before it sleeps: none if there are more threads than
  /// processors.
  int spins() const { return spins_; }
  Barrier& barrier() { return barrier_; }

  /// Whoever holds this may call run() and use the workers' scratch.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  /// Runs the task on every thread and returns when all are done. The caller holds lock().
  /// Allocates nothing.
  void run(Task& task);
  /// Makes each worker's scratch at least `bytes` large. The caller holds lock().
  Status reserve_scratch(std::size_t bytes);
  /// 64-byte aligned memory of a worker's own; null while nothing was reserved.
  std::byte* scratch(int worker) const;

 private:
  Pool(int threads, int spins) : threads_(threads), spins_(spins) {}
  void work(int worker);

  struct FreeScratch {
    void operator()(std::byte* data) const;
  };

  const int threads_;
  const int spins_;
  std::mutex mutex_;
  Barrier barrier_;
  Task* task_ = nullptr;
  std::atomic<std::uint32_t> generation_{0};  // goes up when there is a task
  std::atomic<int> running_{0};               // workers that have not finished it
  std::atomic<bool> stopping_{false};
  std::unique_ptr<std::byte[], FreeScratch> scratch_;
  std::size_t scratch_bytes_ = 0;
  std::vector<std::thread> workers_;
};

}  // namespace shunt::cpu
