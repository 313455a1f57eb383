// Numbers of about 48 bits as sums of two F32 numbers.
#pragma once

#include "backends/cann/calls.h"

namespace shunt::cann {

/// high + low, where low is at most half a unit in the last place of high.
struct FloatPair {
  View high, low;
};

/// numbers / divisors: F32, of the same sizes, without gaps.
FloatPair divide(Calls& calls, const FloatPair& numbers, const View& divisors);

}  // namespace shunt::cann
