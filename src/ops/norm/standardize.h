// Mean 0 and variance 1, for references.
#pragma once

#include <cmath>
#include <span>

namespace shunt {

/// y = (x - mean) / sqrt(variance + eps); zeros where that is 0 / 0.
inline void standardize(std::span<double> x, double eps) {
  const auto n = static_cast<double>(x.size());
  double sum = 0;
  for (double each : x) sum += each;
  const double mean = sum / n;
  double variance = 0;
  for (double each : x) variance += (each - mean) * (each - mean) / n;
  const double deviation = std::sqrt(variance + eps);
  for (double& each : x) each = deviation == 0 ? 0 : (each - mean) / deviation;
}

}  // namespace shunt
