// Rotary position embedding: an element pair a thread. Angles are in double precision.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/math.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/rope.h"

using namespace shunt::cuda::gpu;

namespace {

template <class T>
DEVICE void compute(const RopeArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  const i64 pairs = (i64)p.pairs, half = (i64)p.half;
  const i64 work = pairs + (p.copied != 0 ? y.n[0] - 2 * half : 0);
  const i64 count = work * count_rows(y);
  if (block() * threads() >= count) return;
  const Tensor x = tensor_of(p.x, run), positions = tensor_of(p.positions, run);
  const Tensor factors = tensor_of(p.factors, run);
  for (i64 e = block() * threads() + thread(); e < count; e += blocks() * threads()) {
    const i64 i = e % work;
    const RowIndex at = row_index(y, e / work);
    const u8* from = row_at(x, at);
    u8* to = row_at(y, at);
    if (i >= pairs) {
      const i64 k = 2 * half + i - pairs;
      store<F32>(to, k, y.stride[0], load<T>(from, k, x.stride[0]));
      continue;
    }
    const i32 position = *(const i32*)(positions.data + at.i2 * positions.stride[0] +
                                       p.position_of[i] * positions.stride[1]);
    const i64 pair = (i64)p.first + i;
    double angle = position * p.frequencies[i];
    if (factors.data != nullptr) angle /= *(const float*)(factors.data + pair * factors.stride[0]);
    const SinCos turn = sin_cos(angle);
    const float c = (float)(p.magnitude * turn.cos), s = (float)(p.magnitude * turn.sin);
    const i64 first = p.adjacent != 0 ? 2 * pair : pair;
    const i64 second = p.adjacent != 0 ? first + 1 : pair + half;
    const float u = load<T>(from, first, x.stride[0]), v = load<T>(from, second, x.stride[0]);
    store<F32>(to, first, y.stride[0], u * c - v * s);
    store<F32>(to, second, y.stride[0], u * s + v * c);
  }
}

}  // namespace

KERNEL void rope_F32(RopeArgs p) {
  compute<F32>(p);
}
KERNEL void rope_F16(RopeArgs p) {
  compute<F16>(p);
}
KERNEL void rope_BF16(RopeArgs p) {
  compute<BF16>(p);
}
