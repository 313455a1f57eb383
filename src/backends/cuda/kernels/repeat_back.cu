// Sums over the places that an element was repeated to.
#include "backends/cuda/gpu/long_sum.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/repeat_back.h"

using namespace shunt::cuda::gpu;

namespace {

/// The places of an element, in a fixed order.
struct Places {
  const Tensor& dy;
  const Tensor& dx;

  DEVICE Places of(const Tensor& dy, const Tensor& dx) { return {dy, dx}; }
  ON_DEVICE i64 times(int d) const { return dx.n[d] == 0 ? 0 : dy.n[d] / dx.n[d]; }
  ON_DEVICE i64 count() const { return times(0) * times(1) * times(2) * times(3); }
  ON_DEVICE float value(i64 i, RowIndex at, i64 place) const {
    const i64 t0 = place % times(0);
    place /= times(0);
    const i64 t1 = place % times(1);
    place /= times(1);
    const i64 t2 = place % times(2), t3 = place / times(2);
    const u8* row = row_at(dy, at.i1 + t1 * dx.n[1], at.i2 + t2 * dx.n[2], at.i3 + t3 * dx.n[3]);
    return *(const float*)(row + (i + t0 * dx.n[0]) * dy.stride[0]);
  }
};

/// The sums of threads for the same element, where thread() is below `together`.
DEVICE float add_up(float value, u32 together) {
  SHARED float sums[kRepeatBackThreads];
  barrier();  // the threads have read those of the block's elements before
  sums[thread()] = value;
  for (u32 step = kRepeatBackThreads / 2; step >= together; step /= 2) {
    barrier();
    if (thread() < step) sums[thread()] += sums[thread() + step];
  }
  return sums[thread()];
}

}  // namespace

/// Neighbouring threads have neighbouring elements. Those that share one have some of its places.
KERNEL void repeat_back(RepeatBackArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor dx = tensor_of(p.dx, run);
  const i64 count = dx.n[0] * count_rows(dx);
  if (block() * p.together >= count) return;
  const Tensor dy = tensor_of(p.dy, run);
  const Places places = Places::of(dy, dx);
  const i64 sharing = threads() / p.together, first = thread() / p.together;
  for (i64 from = block() * p.together; from < count; from += blocks() * p.together) {
    const i64 e = from + thread() % p.together;
    const i64 i = e % dx.n[0];
    const RowIndex at = row_index(dx, e / dx.n[0]);
    LongSum of_thread;
    for (i64 place = e < count ? first : places.count(); place < places.count(); place += sharing)
      of_thread.add(places.value(i, at, place));
    const float sum = add_up(of_thread.total(), (u32)p.together);
    if (thread() < p.together && e < count) *(float*)(row_at(dx, at) + i * dx.stride[0]) = sum;
  }
}
