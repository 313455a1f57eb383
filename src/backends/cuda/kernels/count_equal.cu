// Equal elements of two tensors of integers.
#include "backends/cuda/gpu/reduce.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/count_equal.h"

using namespace shunt::cuda::gpu;

namespace {

DEVICE i64 integer_at(const Tensor& tensor, i64 i, RowIndex at, bool wide) {
  const u8* from = row_at(tensor, at) + i * tensor.stride[0];
  return wide ? *(const i64*)from : *(const i32*)from;
}

DEVICE i64 count_parts(const Tensor& a) {
  return (a.n[0] * count_rows(a) + kCountPart - 1) / kCountPart;
}

}  // namespace

KERNEL void count_equal_parts(CountEqualArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor a = tensor_of(p.a, run), b = tensor_of(p.b, run);
  const i64 elements = a.n[0] * count_rows(a);
  for (i64 part = block(); part < count_parts(a); part += blocks()) {
    const i64 first = part * kCountPart;
    const i64 end = first + kCountPart < elements ? first + kCountPart : elements;
    i64 count = 0;
    for (i64 e = first + thread(); e < end; e += threads()) {
      const RowIndex at = row_index(a, e / a.n[0]);
      const i64 i = e % a.n[0];
      if (integer_at(a, i, at, p.wide_a != 0) == integer_at(b, i, at, p.wide_b != 0)) ++count;
    }
    count = block_sum(count);
    if (thread() == 0) p.parts[part] = count;
  }
}

/// One block.
KERNEL void count_equal(CountEqualArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor a = tensor_of(p.a, run), y = tensor_of(p.y, run);
  i64 count = 0;
  for (i64 part = thread(); part < count_parts(a); part += threads()) count += p.parts[part];
  count = block_sum(count);
  if (thread() == 0) *(i64*)y.data = count;
}
