// Mean 0 and variance 1: for references, and for gradient rules.
#pragma once

#include <cmath>
#include <span>

#include "shunt/graph.h"

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

/// The gradient by x, F32, of norm(x), of which dy is that by the result.
Result<Value> standardize_back(GraphBuilder& g, Operand dy, Operand x, float eps);

}  // namespace shunt
