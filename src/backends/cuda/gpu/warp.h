// Computations of a warp together: reductions, sums, and lanes with equal values.
#pragma once

#include "backends/cuda/gpu/dialect.h"

namespace shunt::cuda::gpu {

/// The lanes that have the same value as this one, as bits. No value is above `most`.
DEVICE u32 lanes_alike(u32 value, u32 most) {
  u32 lanes = kAllLanes;
  for (u32 rest = most; rest != 0; rest /= 2, value /= 2) {
    const u32 odd = ballot(value % 2 != 0);
    lanes &= value % 2 != 0 ? odd : ~odd;
  }
  return lanes;
}
DEVICE float add(float a, float b) {
  return a + b;
}
DEVICE float largest(float a, float b) {
  return __builtin_fmaxf(a, b);
}
/// The larger one; not-a-number is the largest.
DEVICE float largest_or_nan(float a, float b) {
  return a > b || a != a ? a : b;
}

/// f of all lanes' values, in each lane. The order is the same in every run.
template <float (*kCombine)(float, float)>
DEVICE float warp_reduce(float value) {
  for (u32 mask = kWarp / 2; mask > 0; mask /= 2) value = kCombine(value, shuffle_xor(value, mask));
  return value;
}
/// Sums of N values of each two lanes that differ in one bit, kMask. The lane without it gets those
/// of the lower half of the values, the other one those of the upper half. For N = 1 both lanes get
/// the sum.
template <int N, u32 kMask, class T>
DEVICE void pair_sums(T* values) {
  if constexpr (N == 1) {
    values[0] += shuffle_xor(values[0], kMask);
  } else {
    const bool upper = (lane() & kMask) != 0;
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      const T low = values[i], high = values[i + N / 2];
      values[i] = (upper ? high : low) + shuffle_xor(upper ? low : high, kMask);
    }
  }
}
/// Sums of N values over the lanes, N a power of two up to 32: lane i gets the sum of value
/// i / (32 / N). It has that sum's order in warp_reduce(). With kShare, only lanes that are equal
/// modulo kShare are added up: lane i gets the sum of value (i / kShare) / (32 / kShare / N).
template <int N, u32 kShare = 1, u32 kMask = kWarp / 2>
DEVICE float warp_sums(float* values) {
  if constexpr (kMask < kShare) {
    return values[0];
  } else {
    pair_sums<N, kMask>(values);
    return warp_sums<(N + 1) / 2, kShare, kMask / 2>(values);
  }
}

}  // namespace shunt::cuda::gpu
