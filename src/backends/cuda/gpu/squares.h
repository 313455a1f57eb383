// Sums of squares of a row, which leave F32's range where its numbers do not.
#pragma once

#include "backends/cuda/gpu/math.h"
#include "backends/cuda/gpu/reduce.h"

namespace shunt::cuda::gpu {

/// The sum of all threads' values, in each of them.
template <class Number>
DEVICE Number block_total(Number value) {
  return block_reduce(value, (Number)0, [](Number a, Number b) { return a + b; });
}

/// Whether the type has room for the squares that were added up.
DEVICE bool has_room_for(float squares) {
  return squares > 1e-30f && squares < 1e38f;
}
DEVICE bool has_room_for(double) {
  return true;
}
/// compute(float()). Where that returns false, which it does before it writes: compute(double()).
template <class F>
DEVICE void compute_with_room(const F& compute) {
  if (!compute(float())) compute(double());
}

/// 1 / sqrt(mean); 0 for zeros without eps.
template <class Number>
DEVICE Number inverse_root(Number mean) {
  return mean == 0 ? 0 : 1 / sqrt(mean);
}

}  // namespace shunt::cuda::gpu
