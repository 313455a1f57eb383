#include "backends/cuda/device_clock.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/clock.h"

namespace shunt::cuda {

namespace {

constexpr double kOldest = 1;  // seconds
constexpr int kTries = 8;
constexpr double kShortRecording = 200e-6;  // seconds
/// cuEventElapsedTime has a resolution of 0.5 microseconds; a float adds less within kOldest.
constexpr double kResolution = 1e-6;

}  // namespace

DeviceClock::~DeviceClock() {
  for (const Anchor& anchor : {anchor_, best_, trial_}) {
    if (anchor.event != nullptr) context_->release<&Symbols::event_destroy>(anchor.event);
  }
  if (stream_ != nullptr) context_->release<&Symbols::stream_destroy>(stream_);
}

Status DeviceClock::record(Anchor& anchor) {
  if (anchor.event == nullptr)
    SHUNT_TRY(context_->call<&Symbols::event_create>(&anchor.event, kEventBlockingSync));
  const double before = steady_seconds();
  SHUNT_TRY(context_->submit<&Symbols::event_record>(anchor.event, stream_));
  SHUNT_TRY(context_->wait_until_idle(stream_));
  const double after = steady_seconds();
  anchor.seconds = (before + after) / 2;
  anchor.error = (after - before) / 2;
  return ok();
}

Status DeviceClock::renew() {
  if (known_ && steady_seconds() - anchor_.seconds < kOldest) return ok();
  if (stream_ == nullptr)
    SHUNT_TRY(context_->call<&Symbols::stream_create>(&stream_, kStreamNonBlocking));
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

void DeviceClock::measure_drift(const Anchor& from, const Anchor& to) {
  const auto device = between(from.event, to.event);
  const double host = to.seconds - from.seconds;
  if (!device || host <= 0) return;
  drift_ = (std::abs(host - *device) + from.error + to.error + kResolution) / host;
}

std::optional<double> DeviceClock::between(EventHandle begin, EventHandle end) const {
  float milliseconds = 0;
  if (!context_->call<&Symbols::event_elapsed_time>(&milliseconds, begin, end)) return std::nullopt;
  return 1e-3 * static_cast<double>(milliseconds);
}

std::optional<NativeEvent::Time> DeviceClock::time(EventHandle event) {
  const std::lock_guard lock(mutex_);
  if (!renew()) return std::nullopt;
  const auto since = between(anchor_.event, event);
  if (!since) return std::nullopt;
  return NativeEvent::Time{anchor_.seconds + *since,
                           anchor_.error + kResolution + drift_ * std::abs(*since)};
}

}  // namespace shunt::cuda
