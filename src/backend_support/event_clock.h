// The times of a device's events on the host's clock.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "backend_support/native_stream.h"

namespace shunt {

/// A vendor's events that know when they were complete, and a stream of their own, so that they
/// wait for no other work. Calls come from one thread at a time, seconds_between() from any.
class TimedEvents {
 public:
  using Handle = void*;

  TimedEvents() = default;
  TimedEvents(const TimedEvents&) = delete;
  TimedEvents& operator=(const TimedEvents&) = delete;
  virtual ~TimedEvents() = default;
  virtual Result<Handle> create() = 0;
  virtual void destroy(Handle event) = 0;
  /// Records the event, and waits until it is complete.
  virtual Status record(Handle event) = 0;
  /// Nothing if the vendor does not know it.
  virtual std::optional<double> seconds_between(Handle begin, Handle end) const = 0;
};

/// Counts from an anchor: an event that was recorded at a known time of the host. A vendor gives
/// the time between two events in milliseconds, as a float, by a clock that runs faster or slower
/// than the host's. So the anchor is renewed every second. The stated error is the sum of half of
/// the time that recording the anchor took, the vendor's resolution, and the drift since the anchor
/// as it was seen between the last two anchors. Thread-safe.
class EventClock {
 public:
  explicit EventClock(std::unique_ptr<TimedEvents> events) : events_(std::move(events)) {}
  EventClock(const EventClock&) = delete;
  EventClock& operator=(const EventClock&) = delete;
  ~EventClock();

  /// When an event of the device was complete. Nothing if the vendor does not know it.
  std::optional<NativeEvent::Time> time(TimedEvents::Handle event);
  /// Seconds between two events of a stream, to the vendor's resolution.
  std::optional<double> between(TimedEvents::Handle begin, TimedEvents::Handle end) const {
    return events_->seconds_between(begin, end);
  }

 private:
  /// An event, its time on the host's clock, and the error of that.
  struct Anchor {
    TimedEvents::Handle event = nullptr;
    double seconds = 0;
    double error = 0;
  };
  Status renew();
  Status record(Anchor& anchor);
  void measure_drift(const Anchor& from, const Anchor& to);

  std::unique_ptr<TimedEvents> events_;
  std::mutex mutex_;
  Anchor anchor_, best_, trial_;
  double drift_ = 1e-4;  // seconds a second; at first that of a bad clock
  bool known_ = false;
};

}  // namespace shunt
