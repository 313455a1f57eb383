#include "backend_support/level_rows.h"

#include <algorithm>
#include <numeric>

namespace shunt {

void take_off_mean(float* row, std::int64_t n) {
  const double mean = std::accumulate(row, row + n, 0.0) / static_cast<double>(n);
  std::transform(row, row + n, row,
                 [mean](float value) { return static_cast<float>(value - mean); });
}

}  // namespace shunt
