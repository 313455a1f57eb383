#include "schedule/case_clock.h"

namespace shunt {

CaseClock::CaseClock(Seconds limit, Seconds patience, const std::atomic<bool>* cancel,
                     std::function<void()> stuck)
    : limit_(limit),
      patience_(patience),
      cancel_(cancel),
      stuck_(std::move(stuck)),
      thread_([this] { watch(); }) {}

CaseClock::~CaseClock() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

const std::atomic<bool>& CaseClock::begin() {
  const std::lock_guard lock(mutex_);
  stop_ = false;
  late_ = false;
  cancelled_.reset();
  begun_ = Clock::now();
  return stop_;
}

bool CaseClock::end() {
  const std::lock_guard lock(mutex_);
  begun_.reset();
  return late_;
}

void CaseClock::watch() {
  // A flag that a signal sets wakes nobody up: it must be looked at.
  constexpr std::chrono::milliseconds kLook(10);
  std::unique_lock lock(mutex_);
  while (!over_) {
    changed_.wait_for(lock, kLook);
    if (begun_) look(Clock::now());
  }
}

void CaseClock::look(Clock::time_point now) {
  if (!cancelled_) {
    late_ = limit_.count() > 0 && now - *begun_ > limit_;
    if (!late_ && (cancel_ == nullptr || !cancel_->load())) return;
    cancelled_ = now;
    stop_ = true;
  } else if (!told_ && now - *cancelled_ > patience_) {
    told_ = true;
    if (stuck_) stuck_();
  }
}

}  // namespace shunt
