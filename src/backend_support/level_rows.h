// Taking off what the numbers of a row have in common before they are rounded to a format with few
// digits, for operations whose result does not depend on it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace shunt {

/// Row `to` of n becomes value(i), each less the largest of them, if that is finite: all in F64, so
/// that nothing overflows on its way. value(i) may read to[i]. Returns the largest.
template <class Value>
double level(float* to, std::int64_t n, const Value& value) {
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < n; ++i) largest = std::fmax(largest, value(i));
  const double taken = std::isfinite(largest) ? largest : 0;
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(value(i) - taken);
  return largest;
}

/// Subtracts the mean of a row from each of its elements.
void take_off_mean(float* row, std::int64_t n);

}  // namespace shunt
