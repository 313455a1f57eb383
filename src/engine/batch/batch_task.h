// A request as the batcher works on it, and its events on the way to the reader.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "shunt/batcher.h"

namespace shunt {

/// Wakes the batcher's thread.
class BatchSignal {
 public:
  void set() {
    {
      const std::lock_guard lock(mutex_);
      set_ = true;
    }
    changed_.notify_all();
  }
  /// Waits until it is set, or for some seconds, and resets it.
  void wait(double seconds);
  /// A request has been cancelled.
  void set_cancelled() {
    cancelled_.store(true);
    set();
  }
  /// Whether one has been since the last call.
  bool take_cancelled() { return cancelled_.exchange(false); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
  std::atomic<bool> cancelled_ = false;
};

/// The part that the reader and the batcher share.
class BatchTask {
 public:
  explicit BatchTask(std::shared_ptr<BatchSignal> signal) : signal_(std::move(signal)) {}

  /// For the batcher.
  void push(BatchEvent event);
  /// The last event. Needs no memory, so that every request ends.
  void end(BatchResult result) noexcept;
  std::size_t unread() const;
  bool is_cancelled() const { return cancelled_.load(); }

  /// For the reader.
  std::optional<BatchEvent> take(bool wait);
  void cancel();

 private:
  std::shared_ptr<BatchSignal> signal_;
  std::atomic<bool> cancelled_ = false;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<BatchEvent> events_;
  std::optional<BatchResult> end_;  // after all events
  bool ended_ = false;              // the end has been taken
};

}  // namespace shunt
