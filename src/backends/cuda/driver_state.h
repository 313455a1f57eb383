// What all registries of a process share of the driver.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "backend_support/device_health.h"
#include "backends/cuda/symbols.h"
#include "shunt/error.h"

namespace shunt::cuda {

/// A device's primary context: a process has one, whatever the number of its registries.
/// Thread-safe.
class ContextState {
 public:
  /// A registry uses the context from now on. Fails if the device hangs for another one: a call may
  /// block.
  Status add(const std::shared_ptr<DeviceHealth>& health);
  /// It no longer does. A device that hangs is kept, so that no other registry gets it.
  void remove(const std::shared_ptr<DeviceHealth>& health);
  /// The error of the registry for which the device hangs.
  Status check() const;
  /// The longest timeout of all registries: work of one may take longer than another allows its
  /// own.
  std::chrono::milliseconds longest_timeout() const;

  void add_stream(StreamHandle stream);
  void remove_stream(StreamHandle stream);
  /// Calls a function for each stream of all registries until one fails. None is removed meanwhile.
  Status for_each_stream(const std::function<Status(StreamHandle)>& visit) const;

  /// Held by calls that give work to streams.
  std::shared_lock<std::shared_mutex> submission();
  /// While it lives, submission() waits.
  class Pause {
   public:
    explicit Pause(ContextState& state);
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    ~Pause();

   private:
    ContextState& state_;
  };

  /// One thread at a time changes the limits of the context.
  std::mutex& limits() { return limits_; }

 private:
  Status check_locked() const;

  mutable std::mutex users_mutex_;
  std::vector<std::shared_ptr<DeviceHealth>> users_;
  mutable std::mutex streams_mutex_;
  std::vector<StreamHandle> streams_;
  std::atomic<int> pauses_ = 0;  // threads that want the mutex for themselves
  std::shared_mutex submission_mutex_;
  std::mutex limits_;
};

/// Thread-safe.
class DriverState {
 public:
  /// How many devices were lost so far. The driver may have lost others with them.
  int losses() const { return losses_; }
  /// Whether the last of them was lost less than this ago.
  bool has_lost_within(std::chrono::milliseconds time) const;
  void count_loss();

  /// Of a primary context. It stays the same until the process ends.
  ContextState& context(ContextHandle handle);

 private:
  std::atomic<int> losses_ = 0;
  std::atomic<double> last_loss_ = 0;  // steady_seconds()
  std::mutex mutex_;
  std::map<ContextHandle, ContextState> contexts_;
};

}  // namespace shunt::cuda
