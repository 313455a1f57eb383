#include "backends/cuda/device_clock.h"

#include <chrono>
#include <limits>
#include <utility>

namespace shunt::cuda {

namespace {

constexpr double kOldest = 10;  // seconds
constexpr int kTries = 8;
constexpr double kShortRecording = 200e-6;  // seconds

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

DeviceClock::~DeviceClock() {
  for (EventHandle event : {anchor_, trial_}) {
    if (event != nullptr) context_->release<&Symbols::event_destroy>(event);
  }
  if (stream_ != nullptr) context_->release<&Symbols::stream_destroy>(stream_);
}

Status DeviceClock::renew() {
  if (known_ && now() - anchor_seconds_ < kOldest) return ok();
  if (stream_ == nullptr)
    SHUNT_TRY(context_->call<&Symbols::stream_create>(&stream_, kStreamNonBlocking));
  for (EventHandle* event : {&anchor_, &trial_}) {
    if (*event == nullptr)
      SHUNT_TRY(context_->call<&Symbols::event_create>(event, kEventBlockingSync));
  }
  known_ = false;
  // Other processes may delay the host in between, so the shortest try is the anchor.
  double shortest = std::numeric_limits<double>::infinity();
  for (int tries = 0; tries < kTries && shortest >= kShortRecording; ++tries) {
    const double before = now();
    SHUNT_TRY(context_->call<&Symbols::event_record>(trial_, stream_));
    SHUNT_TRY(context_->wait_until_idle(stream_));
    const double after = now();
    if (after - before >= shortest) continue;
    shortest = after - before;
    anchor_seconds_ = (before + after) / 2;
    std::swap(anchor_, trial_);
  }
  known_ = true;
  return ok();
}

std::optional<double> DeviceClock::between(EventHandle begin, EventHandle end) const {
  float milliseconds = 0;
  if (!context_->call<&Symbols::event_elapsed_time>(&milliseconds, begin, end)) return std::nullopt;
  return 1e-3 * static_cast<double>(milliseconds);
}

std::optional<double> DeviceClock::seconds(EventHandle event) {
  const std::lock_guard lock(mutex_);
  if (!renew()) return std::nullopt;
  const auto since = between(anchor_, event);
  if (!since) return std::nullopt;
  return anchor_seconds_ + *since;
}

}  // namespace shunt::cuda
