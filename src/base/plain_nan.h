// "nan" in messages, without the meaningless sign bit that some NaNs have.
#pragma once

#include <cmath>
#include <limits>

namespace shunt {

/// The value; one that is not a number without its sign.
template <class Float>
Float plain_nan(Float value) {
  return std::isnan(value) ? std::numeric_limits<Float>::quiet_NaN() : value;
}

}  // namespace shunt
