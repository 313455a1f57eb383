// Which tasks of a stream have failed, and which are known to have succeeded.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "backend_support/device_health.h"
#include "backend_support/native_stream.h"

namespace shunt {

/// Shared by a stream, its events, and all that waited for these events. Tasks are numbered from 1.
/// Thread-safe.
class StreamHistory {
 public:
  /// `native` must stay until close().
  StreamHistory(NativeStream& native, std::shared_ptr<DeviceHealth> health);
  DeviceHealth& health() const { return *health_; }

  /// The number of the next task.
  std::uint64_t begin();
  /// Notes which binding a task runs, now that it is submitted.
  void submitted(std::uint64_t task, const Binding& binding);
  /// Notes that this task failed, and with it all that follow until settle(). The first task that
  /// failed counts, not the first one noted.
  void fail(std::uint64_t task, const Error& error);
  /// Asks the vendor for a failure.
  void poll();
  /// The same after waiting for the event of task `waited` ended with an error, which is noted
  /// unless the vendor or an earlier failure explains it.
  void poll(std::uint64_t waited, const Error& error);
  /// The error of a task whose results are absent, as far as it is known.
  Status status_at(std::uint64_t task) const;
  /// Notes that a task is complete, and that no failure was reported afterwards.
  void confirm(std::uint64_t task);
  bool is_confirmed(std::uint64_t task) const;
  /// NativeStream::is_busy(); false once it is closed.
  bool is_busy();
  /// Notes that all work is complete. Later work starts without an error; earlier failures remain.
  void settle();
  /// Called before the vendor's stream is destroyed.
  void close();

 private:
  static constexpr std::uint64_t kOpen = std::numeric_limits<std::uint64_t>::max();
  struct Failure {
    std::uint64_t first;
    std::uint64_t last;  // kOpen: and all that follow
    Error error;
  };
  struct Run {
    std::uint64_t task;
    const Binding* binding;
  };
  void add(std::uint64_t task, const Error& error);
  bool ask_vendor();  // whether it knows a failure
  void report(const NativeFailure& failure);
  std::string nodes_of(std::uint64_t task) const;
  bool failing() const { return !failures_.empty() && failures_.back().last == kOpen; }

  std::shared_ptr<DeviceHealth> health_;
  mutable std::mutex mutex_;
  NativeStream* native_;
  std::uint64_t last_ = 0;       // task that was begun
  std::uint64_t confirmed_ = 0;  // up to here all is complete, and failures are in failures_
  std::vector<Failure> failures_;
  std::vector<Run> runs_;  // that are not confirmed
};

/// The tasks that work depends on: the last one of each stream. Streams that were waited for come
/// before those that waited, so that the cause of an error comes before its consequences.
class StreamClock {
 public:
  StreamClock() { entries_.reserve(8); }
  struct Entry {
    std::shared_ptr<StreamHistory> history;
    std::uint64_t task = 0;
  };
  const std::vector<Entry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  void clear() { entries_.clear(); }
  void add(const Entry& entry);
  /// The first known error of the tasks that this depends on.
  Status status() const;
  /// Asks the vendors first. Without an error all of it is confirmed. Call it when all is complete.
  Status final_status() const;
  /// The error of the first lost device that this depends on. Asks the vendors.
  Status lost() const;
  /// Makes the device of the first of these streams lost that still has work to do, because that
  /// lasts too long. False if none has.
  bool lose_busy() const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace shunt
