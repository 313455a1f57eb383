#include "backends/zdnn/rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shunt::zdnn {

float take_off_largest(float* row, std::int64_t n) {
  const float largest = *std::max_element(row, row + n);
  if (!std::isfinite(largest)) return largest;
  std::transform(row, row + n, row, [largest](float value) { return value - largest; });
  return largest;
}

void take_off_mean(float* row, std::int64_t n) {
  const double mean = std::accumulate(row, row + n, 0.0) / static_cast<double>(n);
  std::transform(row, row + n, row,
                 [mean](float value) { return static_cast<float>(value - mean); });
}

}  // namespace shunt::zdnn
