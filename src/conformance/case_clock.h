// Watches over cases that are computed on a device: cancels a case that takes too long, and reports
// a device that continues after that.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.h"

namespace shunt {

class CaseClock {
 public:
  using Seconds = std::chrono::duration<double>;

  /// A case may take `limit` (0: no limit). It is cancelled if it takes longer, or when `cancel`,
  /// which may be null, becomes true. If it continues for more than `patience` after that, the
  /// thread of the clock calls `stuck`, once. `now` returns the time in seconds, on any thread.
  CaseClock(Seconds limit, Seconds patience, const std::atomic<bool>* cancel,
            std::function<void()> stuck, std::function<double()> now = steady_seconds);
  ~CaseClock();
  CaseClock(const CaseClock&) = delete;
  CaseClock& operator=(const CaseClock&) = delete;

  /// A case begins; it is to end when that is true.
  const std::atomic<bool>& begin();
  /// It has ended; whether it took too long.
  bool end();

 private:
  void watch();
  void look();

  const Seconds limit_;
  const Seconds patience_;
  const std::atomic<bool>* cancel_;
  const std::function<void()> stuck_;
  const std::function<double()> now_;
  std::atomic<bool> stop_ = false;  // the case under way is to end

  std::mutex mutex_;                 // of all below
  std::condition_variable changed_;  // over_ was
  std::optional<double> begun_;      // when: the case under way
  std::optional<double> cancelled_;  // when: it was
  bool late_ = false;                // for the time it took
  bool told_ = false;                // that it is stuck
  bool over_ = false;                // no case will follow
  std::thread thread_;
};

}  // namespace shunt
