// The times of a device's events on the host's clock.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "backend_support/native_stream.h"
#include "backends/cuda/driver.h"

namespace shunt::cuda {

/// Counts from an anchor: an event that was recorded at a known time of the host. The driver gives
/// the time between two events in milliseconds, as a float, by a clock that runs faster or slower
/// than the host's. So the anchor is renewed every second. The stated error is the sum of half of
/// the time that recording the anchor took, the driver's resolution, and the drift since the anchor
/// as it was seen between the last two anchors. Thread-safe.
class DeviceClock {
 public:
  explicit DeviceClock(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;
  ~DeviceClock();

  /// When an event of the device was complete. Nothing if the driver does not know it.
  std::optional<NativeEvent::Time> time(EventHandle event);
  /// Seconds between two events of a stream, to half a microsecond.
  std::optional<double> between(EventHandle begin, EventHandle end) const;

 private:
  /// An event, its time on the host's clock, and the error of that.
  struct Anchor {
    EventHandle event = nullptr;
    double seconds = 0;
    double error = 0;
  };
  Status renew();
  Status record(Anchor& anchor);
  void measure_drift(const Anchor& from, const Anchor& to);

  std::shared_ptr<Context> context_;
  std::mutex mutex_;
  StreamHandle stream_ = nullptr;  // of its own, so that an anchor waits for no other work
  Anchor anchor_, best_, trial_;
  double drift_ = 1e-4;  // seconds a second; at first that of a bad clock
  bool known_ = false;
};

}  // namespace shunt::cuda
