// "nan" in messages, without the sign that some of them have in their bits and none in meaning.
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
