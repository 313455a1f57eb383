// The factors that norms multiply rows with.
#pragma once

#include <algorithm>
#include <cmath>

#include "backends/cpu/simd/vector.h"

namespace shunt::cpu {

/// The sum of x^2.
inline double sum_of_squares(simd::Level level, const float* x, std::int64_t n) {
  // In pieces, so that the error of F32 does not grow with n.
  constexpr std::int64_t kSummedAtOnce = 65536;
  double sum = 0;
  bool fits = true;
  for (std::int64_t first = 0; first < n; first += kSummedAtOnce) {
    const float fast = simd::sum_squares(level, x + first, std::min(kSummedAtOnce, n - first));
    fits = fits && fast > 1e-30F && std::isfinite(fast);
    sum += fast;
  }
  // Squares too small or too large for F32, though x is not.
  if (!fits) {
    sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  }
  return sum;
}

/// 1 / sqrt(mean(x^2) + eps); 0 for zeros without eps.
inline float inverse_root_mean_square(simd::Level level, const float* x, std::int64_t n,
                                      float eps) {
  const double mean = sum_of_squares(level, x, n) / static_cast<double>(n) + eps;
  return mean == 0 ? 0.0F : static_cast<float>(1 / std::sqrt(mean));
}

}  // namespace shunt::cpu
