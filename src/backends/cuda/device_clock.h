// The times of a device's events on the host's clock.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "backends/cuda/driver.h"

namespace shunt::cuda {

/// Counts from an anchor: an event that was recorded at a known time of the host. The driver gives
/// the time between two events in milliseconds, as a float, so the anchor is renewed every ten
/// seconds. An event's time is wrong by at most half of the time that recording the anchor took,
/// usually some ten microseconds. Each ten seconds between the two add 1 microsecond. Thread-safe.
class DeviceClock {
 public:
  explicit DeviceClock(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;
  ~DeviceClock();

  /// When an event of the device was complete: seconds of std::chrono::steady_clock. Nothing if the
  /// driver does not know it.
  std::optional<double> seconds(EventHandle event);
  /// Seconds between two events of a stream, to half a microsecond.
  std::optional<double> between(EventHandle begin, EventHandle end) const;

 private:
  Status renew();

  std::shared_ptr<Context> context_;
  std::mutex mutex_;
  StreamHandle stream_ = nullptr;  // of its own, so that an anchor waits for no other work
  EventHandle anchor_ = nullptr;
  EventHandle trial_ = nullptr;
  double anchor_seconds_ = 0;
  bool known_ = false;
};

}  // namespace shunt::cuda
