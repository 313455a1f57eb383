// The clock that work is timed by.
#pragma once

#include <chrono>

namespace shunt {

/// Seconds of std::chrono::steady_clock, which counts from some moment or other.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace shunt
