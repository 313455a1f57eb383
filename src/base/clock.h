// The clock for the times of work.
#pragma once

#include <chrono>

namespace shunt {

/// Seconds of std::chrono::steady_clock, which counts from an unspecified moment.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace shunt
