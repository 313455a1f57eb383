// Norms of rows: a row a block. The sum of the squares of a row leaves F32's range where its
// numbers do not.
#pragma once

#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/math.h"
#include "backends/cuda/gpu/reduce.h"
#include "backends/cuda/gpu/tensors.h"

namespace shunt::cuda::gpu {

/// The sum of the squares of read(i), for i below n, in each thread of a block.
template <class Number, class Read>
DEVICE Number sum_of_squares(i64 n, const Read& read) {
  Number squares = 0;
  for (i64 i = thread(); i < n; i += threads()) {
    const Number value = read(i);
    squares += value * value;
  }
  return block_sum(squares);
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

/// f(read, write) for each row of y: read(i) is element i of the row of x, write(i, value) sets
/// that of y. A row a block. All threads of the block must call it.
template <class T, class F>
DEVICE void for_each_row(const TensorArg& x_arg, const TensorArg& y_arg, const Run& run,
                         const F& f) {
  const Tensor y = tensor_of(y_arg, run);
  if (block() >= count_rows(y)) return;
  const Tensor x = tensor_of(x_arg, run);
  for (i64 row = block(); row < count_rows(y); row += blocks()) {
    const RowIndex at = row_index(y, row);
    const u8* from = row_at(x, at);
    u8* to = row_at(y, at);
    f([&](i64 i) { return load<T>(from, i, x.stride[0]); },
      [&](i64 i, float value) { store<T>(to, i, y.stride[0], value); });
  }
}

/// 1 / sqrt(mean); 0 for zeros without eps.
template <class Number>
DEVICE Number inverse_root(Number mean) {
  return mean == 0 ? 0 : 1 / sqrt(mean);
}

}  // namespace shunt::cuda::gpu
