#include "conformance/case_clock.h"

namespace shunt {

CaseClock::CaseClock(Seconds limit, Seconds patience, const std::atomic<bool>* cancel,
                     std::function<void()> stuck, std::function<double()> now)
    : limit_(limit),
      patience_(patience),
      cancel_(cancel),
      stuck_(std::move(stuck)),
      now_(std::move(now)),
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
  begun_ = now_();
  return stop_;
}

bool CaseClock::end() {
  const std::lock_guard lock(mutex_);
  // It may have begun and ended between two looks.
  if (begun_ && !cancelled_) look();
  begun_.reset();
  return late_;
}

void CaseClock::watch() {
  // A flag that a signal sets does not wake up a thread: it must be polled.
  constexpr std::chrono::milliseconds kLook(10);
  std::unique_lock lock(mutex_);
  while (!over_) {
    changed_.wait_for(lock, kLook);
    if (begun_) look();
  }
}

void CaseClock::look() {
  const double now = now_();
  if (!cancelled_) {
    late_ = limit_.count() > 0 && now - *begun_ > limit_.count();
    if (!late_ && (cancel_ == nullptr || !cancel_->load())) return;
    cancelled_ = now;
    stop_ = true;
  } else if (!told_ && now - *cancelled_ > patience_.count()) {
    told_ = true;
    if (stuck_) stuck_();
  }
}

}  // namespace shunt
