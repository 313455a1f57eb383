// Sums of rows, a row a block, and of all elements.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/long_sum.h"
#include "backends/cuda/gpu/reduce.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/reduce.h"

using namespace shunt::cuda::gpu;

namespace {

template <class T>
DEVICE void sum_rows(const ReduceRowsArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (block() >= count_rows(y)) return;
  const Tensor x = tensor_of(p.x, run);
  for (i64 row = block(); row < count_rows(y); row += blocks()) {
    const RowIndex at = row_index(y, row);
    LongSum of_thread;
    for (i64 i = thread(); i < x.n[0]; i += threads())
      of_thread.add(load<T>(row_at(x, at), i, x.stride[0]));
    float sum = block_sum(of_thread.total());
    if (p.mean != 0) sum /= (float)x.n[0];
    if (thread() == 0) store<T>(row_at(y, at), 0, y.stride[0], sum);
  }
}

/// As many elements at a time as the block has threads.
template <class T>
DEVICE void cumsum(const ReduceRowsArgs& p) {
  SHARED float totals[kWarp];
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (block() >= count_rows(y)) return;
  const Tensor x = tensor_of(p.x, run);
  for (i64 row = block(); row < count_rows(y); row += blocks()) {
    const RowIndex at = row_index(y, row);
    float before = 0;
    for (i64 first = 0; first < x.n[0]; first += threads()) {
      const i64 i = first + thread();
      float sum = i < x.n[0] ? load<T>(row_at(x, at), i, x.stride[0]) : 0;
      for (u32 distance = 1; distance < kWarp; distance *= 2) {
        const float below = shuffle_up(sum, distance);
        if (lane() >= distance) sum += below;
      }
      barrier();
      if (lane() == kWarp - 1) totals[warp()] = sum;
      barrier();
      float after = before;
      for (u32 w = 0; w < warps(); ++w) {
        if (w == warp()) sum += after;
        after += totals[w];
      }
      before = after;
      if (i < x.n[0]) store<T>(row_at(y, at), i, y.stride[0], sum);
    }
  }
}

DEVICE i64 count_parts(const Tensor& x) {
  return (x.n[0] * count_rows(x) + kReducePart - 1) / kReducePart;
}

template <class T>
DEVICE void sum_parts(const ReduceAllArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor x = tensor_of(p.x, run);
  const i64 count = x.n[0] * count_rows(x);
  for (i64 part = block(); part < count_parts(x); part += blocks()) {
    const i64 first = part * kReducePart;
    const i64 end = first + kReducePart < count ? first + kReducePart : count;
    float sum = 0;
    for (i64 e = first + thread(); e < end; e += threads())
      sum += load<T>(row_at(x, row_index(x, e / x.n[0])), e % x.n[0], x.stride[0]);
    sum = block_sum(sum);
    if (thread() == 0) p.parts[part] = sum;
  }
}

/// One block.
template <class T>
DEVICE void sum_of_parts(const ReduceAllArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor x = tensor_of(p.x, run), y = tensor_of(p.y, run);
  float sum = 0;
  for (i64 part = thread(); part < count_parts(x); part += threads()) sum += p.parts[part];
  sum = block_sum(sum);
  if (thread() == 0) store<T>(y.data, 0, y.stride[0], sum);
}

}  // namespace

#define REDUCE(T)                                 \
  KERNEL void sum_rows_##T(ReduceRowsArgs p) {    \
    sum_rows<T>(p);                               \
  }                                               \
  KERNEL void cumsum_##T(ReduceRowsArgs p) {      \
    cumsum<T>(p);                                 \
  }                                               \
  KERNEL void sum_parts_##T(ReduceAllArgs p) {    \
    sum_parts<T>(p);                              \
  }                                               \
  KERNEL void sum_of_parts_##T(ReduceAllArgs p) { \
    sum_of_parts<T>(p);                           \
  }
FOR_SINGLE_TYPES(REDUCE)
