#pragma once

#include <cstdint>

namespace shunt {

/// a / b, rounded up. a is at least 0, b above; a + b does not overflow.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace shunt
