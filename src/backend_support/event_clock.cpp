#include "backend_support/event_clock.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/clock.h"

namespace shunt {

namespace {

constexpr double kOldest = 1;  // seconds
constexpr int kTries = 8;
constexpr double kShortRecording = 200e-6;  // seconds
/// Vendors give times in whole microseconds, or finer; a float adds less than that within kOldest.
constexpr double kResolution = 2e-6;

}  // namespace

EventClock::~EventClock() {
  for (const Anchor& anchor : {anchor_, best_, trial_}) {
    if (anchor.event != nullptr) events_->destroy(anchor.event);
  }
}

Status EventClock::record(Anchor& anchor) {
  if (anchor.event == nullptr) {
    SHUNT_ASSIGN(anchor.event, events_->create());
  }
  const double before = steady_seconds();
  SHUNT_TRY(events_->record(anchor.event));
  const double after = steady_seconds();
  anchor.seconds = (before + after) / 2;
  anchor.error = (after - before) / 2;
  return ok();
}

Status EventClock::renew() {
  if (known_ && steady_seconds() - anchor_.seconds < kOldest) return ok();
  // Other processes may delay the host in between, so there are several tries.
  best_.error = std::numeric_limits<double>::infinity();
  for (int tries = 0; tries < kTries && 2 * best_.error >= kShortRecording; ++tries) {
    SHUNT_TRY(record(trial_));
    if (trial_.error < best_.error) std::swap(best_, trial_);
  }
  if (known_) measure_drift(anchor_, best_);
  std::swap(anchor_, best_);
  known_ = true;
  return ok();
}

void EventClock::measure_drift(const Anchor& from, const Anchor& to) {
  const auto device = between(from.event, to.event);
  const double host = to.seconds - from.seconds;
  if (!device || host <= 0) return;
  drift_ = (std::abs(host - *device) + from.error + to.error + kResolution) / host;
}

std::optional<NativeEvent::Time> EventClock::time(TimedEvents::Handle event) {
  const std::lock_guard lock(mutex_);
  if (!renew()) return std::nullopt;
  const auto since = between(anchor_.event, event);
  if (!since) return std::nullopt;
  return NativeEvent::Time{anchor_.seconds + *since,
                           anchor_.error + kResolution + drift_ * std::abs(*since)};
}

}  // namespace shunt
