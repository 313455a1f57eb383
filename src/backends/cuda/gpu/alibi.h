// The slopes of ALiBi (shunt/ops/attention.h).
#pragma once

#include "backends/cuda/gpu/math.h"

namespace shunt::cuda::gpu {

/// ALiBi's slope of a head: 2 to the power of -x, in whole numbers and a rest.
DEVICE float slope_of(float max_bias, i64 heads, i64 head) {
  if (max_bias == 0) return 1;
  i64 n = 1;
  while (2 * n <= heads) n *= 2;
  const i64 halves = head < n ? 2 * (head + 1) : 2 * (head - n) + 1;
  const float x = max_bias * (float)halves / (float)(2 * n);
  const int whole = (int)x;
  return power_of_two(-whole) * exp(-0.693147181f * (x - (float)whole));
}

}  // namespace shunt::cuda::gpu
