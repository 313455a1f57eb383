// The common code of the cross entropy and its gradient.
#pragma once

#include <cmath>
#include <limits>

#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/vector.h"

namespace shunt::cpu {

/// softmax(x) = exps / sum, and ln(softmax(x)) = x - log_sum.
struct SoftmaxSum {
  double sum = 0;
  double log_sum = 0;
};

/// Writes exp(x - max(x)) to `exps`.
inline SoftmaxSum softmax_sum(simd::Level level, const float* x, float* exps, std::int64_t n) {
  const float largest = simd::max(level, x, n);
  const double sum = simd::exp_shifted(level, x, largest, exps, n);
  return {sum, largest + std::log(sum)};
}

}  // namespace shunt::cpu
