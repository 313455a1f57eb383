#pragma once

#include <chrono>
#include <thread>

namespace shunt::cuda {

/// Between two looks at work of the driver: short at first, then long enough to leave the core to
/// others. `looks`: how many there were.
inline void pause(int looks) {
  constexpr int kShort = 200;
  constexpr std::chrono::microseconds kLong{50};
  if (looks < kShort) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(kLong);
  }
}

}  // namespace shunt::cuda
