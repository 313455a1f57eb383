// Sums over the places that an element was repeated to.
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/repeat_back.h"

using namespace shunt::cuda::gpu;

namespace {

/// The places of an element, in a fixed order.
struct Places {
  const Tensor& dy;
  const Tensor& dx;

  DEVICE Places of(const Tensor& dy, const Tensor& dx) { return {dy, dx}; }
  __attribute__((device)) i64 times(int d) const { return dx.n[d] == 0 ? 0 : dy.n[d] / dx.n[d]; }
  __attribute__((device)) i64 count() const { return times(0) * times(1) * times(2) * times(3); }
  __attribute__((device)) float value(i64 i, RowIndex at, i64 place) const {
    const i64 t0 = place % times(0);
    place /= times(0);
    const i64 t1 = place % times(1);
    place /= times(1);
    const i64 t2 = place % times(2), t3 = place / times(2);
    const u8* row = row_at(dy, at.i1 + t1 * dx.n[1], at.i2 + t2 * dx.n[2], at.i3 + t3 * dx.n[3]);
    return *(const float*)(row + (i + t0 * dx.n[0]) * dy.stride[0]);
  }
};

}  // namespace

/// An element a thread.
KERNEL void repeat_back_many(RepeatBackArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor dx = tensor_of(p.dx, run);
  if (is_idle(dx)) return;
  const Tensor dy = tensor_of(p.dy, run);
  const Places places = Places::of(dy, dx);
  for_each_element(dx, [&](i64 i, RowIndex at) {
    float sum = 0;
    for (i64 place = 0; place < places.count(); ++place) sum += places.value(i, at, place);
    *(float*)(row_at(dx, at) + i * dx.stride[0]) = sum;
  });
}

/// An element a block.
KERNEL void repeat_back_few(RepeatBackArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor dx = tensor_of(p.dx, run);
  const i64 count = dx.n[0] * count_rows(dx);
  if (block() >= count) return;
  const Tensor dy = tensor_of(p.dy, run);
  const Places places = Places::of(dy, dx);
  for (i64 e = block(); e < count; e += blocks()) {
    const i64 i = e % dx.n[0];
    const RowIndex at = row_index(dx, e / dx.n[0]);
    float sum = 0;
    for (i64 place = thread(); place < places.count(); place += threads())
      sum += places.value(i, at, place);
    sum = block_sum(sum);
    if (thread() == 0) *(float*)(row_at(dx, at) + i * dx.stride[0]) = sum;
  }
}
