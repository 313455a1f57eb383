// Sizes in whole units.
#pragma once

#include <cstdint>

namespace cuda_twin {

/// The next multiple of `unit`. Neither sum nor unit may overflow.
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace cuda_twin
