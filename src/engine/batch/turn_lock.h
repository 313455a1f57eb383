// A lock that is given in the order in which threads ask for it.
#pragma once

#include <atomic>
#include <cstdint>

namespace shunt {

/// As std::mutex, for std::lock_guard. One that asks again waits for all others that wait.
class TurnLock {
 public:
  void lock() {
    const std::uint64_t turn = next_.fetch_add(1);
    for (std::uint64_t now = now_.load(); now != turn; now = now_.load()) now_.wait(now);
  }
  void unlock() {
    now_.fetch_add(1);
    now_.notify_all();
  }

 private:
  std::atomic<std::uint64_t> next_ = 0;
  std::atomic<std::uint64_t> now_ = 0;  // whose turn it is
};

}  // namespace shunt
