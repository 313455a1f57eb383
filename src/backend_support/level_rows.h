// Subtracts the largest or mean number of a row before rounding to a format with few digits, for
// operations whose result does not depend on it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace shunt {

/// Element i of n becomes value(i) minus the largest value, or value(i) if the largest is not
/// finite. Computed in F64, so that no intermediate number overflows. value(i) may read to[i].
/// Returns the largest value.
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
