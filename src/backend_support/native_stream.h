// The vendor's side of an EventStream: queues that continue after a failed task, and events whose
// completion does not report errors. CUDA's and ACL's streams are like this.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "shunt/device.h"

namespace shunt {

/// A vendor's event: a point in one of its streams. Thread-safe. The device outlives it, the stream
/// may not.
class NativeEvent {
 public:
  NativeEvent() = default;
  NativeEvent(const NativeEvent&) = delete;
  NativeEvent& operator=(const NativeEvent&) = delete;
  virtual ~NativeEvent() = default;
  /// Blocks the host until the event is complete or `most` has passed. True once it is complete; an
  /// error ends the wait as well. A vendor's wait without a time limit will do if the loss of the
  /// device ends it.
  virtual Result<bool> wait(std::chrono::milliseconds most) = 0;
  /// When it was complete: seconds of std::chrono::steady_clock, and the largest error of that.
  /// Asked only of timed events.
  struct Time {
    double seconds = 0;
    double error = 0;
  };
  virtual std::optional<Time> time() const { return std::nullopt; }
  /// Seconds from an earlier event of the same stream to this one. By default the difference of
  /// their times; a device that measures this itself is more exact.
  virtual std::optional<double> seconds_since(const NativeEvent& begin) const {
    const auto from = begin.time(), to = time();
    if (!from || !to) return std::nullopt;
    return to->seconds - from->seconds;
  }
};

/// A failure of a stream, as its vendor reports it.
struct NativeFailure {
  Error error;
  std::uint64_t task = 0;  ///< the failed one; 0 if the vendor does not report it
  bool lost = false;       ///< nothing on this device works any more
  bool hung = false;       ///< lost, and calls for the device may block
};

/// A vendor's stream. All calls but failure() come from one thread at a time. A submission waits
/// for the device only for room in the vendor's queue, and for copies that the vendor can't queue.
/// An EventStream numbers the tasks, in ascending order.
class NativeStream {
 public:
  NativeStream() = default;
  NativeStream(const NativeStream&) = delete;
  NativeStream& operator=(const NativeStream&) = delete;
  virtual ~NativeStream() = default;

  virtual Result<std::unique_ptr<NativeEvent>> create_event(bool timed) = 0;
  /// Submits a binding's work. `args` is gone when this returns. If the device can, it checks
  /// `args.cancel` before each launch.
  virtual Status run(std::uint64_t task, Binding& binding, const RunArgs& args) = 0;
  virtual Status write(std::uint64_t task, Address to, std::span<const std::byte> from) = 0;
  virtual Status read(std::uint64_t task, std::span<std::byte> to, Address from) = 0;
  /// Only where Device::can_copy_from() allows it.
  virtual Status copy(std::uint64_t task, Address to, Address from, std::size_t bytes);
  /// Rows that are inside their buffers. By default a call of the above for each.
  virtual Status write_2d(std::uint64_t task, Address to, const std::byte* from,
                          const CopyShape& shape);
  virtual Status read_2d(std::uint64_t task, std::byte* to, Address from, const CopyShape& shape);
  virtual Status copy_2d(std::uint64_t task, Address to, Address from, const CopyShape& shape);
  /// The event completes when all work submitted so far is done, with or without success.
  virtual Status record(NativeEvent& event) = 0;
  /// Lets later work wait on the device for an event as it was recorded last. False if this stream
  /// can't wait for such an event: the host waits instead.
  virtual Result<bool> wait_for(NativeEvent& event) = 0;
  /// The first failure since recover(); once the device is lost, the failure that reports the loss.
  /// A task's failure is known at the latest when an event recorded behind it is complete.
  /// Thread-safe.
  virtual std::optional<NativeFailure> failure() = 0;
  /// Whether work is not complete yet; true if it does not know. Thread-safe.
  virtual bool is_busy() { return true; }
  /// Called when all work is done: forgets failures. An error means that the device is lost.
  virtual Status recover() = 0;
  /// The nodes of a binding, for errors: the first and the last. Empty if it does not know.
  virtual std::string nodes_of(const Binding&) const { return {}; }

  /// The look of an EventStream at a submission that waits.
  struct Watch {
    std::function<Status()> check;    ///< the error of a lost device that it waits for
    std::function<Error()> time_out;  ///< makes the device lost that it waits for
  };
  void watch(Watch watch) { watch_ = std::move(watch); }

 protected:
  /// For a submission that waits: the error of this device or of one that its stream waits for,
  /// once such a device is lost.
  Status check_devices() const { return watch_.check(); }
  /// The error of a submission that has waited longer than the device's timeout. The device that is
  /// lost by it may be another one: that whose event the stream waits for.
  Error timed_out() const { return watch_.time_out(); }

 private:
  Watch watch_;
};

}  // namespace shunt
