// Substitution: a right-hand side a thread.
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/solve_tri.h"

using namespace shunt::cuda::gpu;

namespace {

DEVICE float& at(const Tensor& tensor, i64 i0, i64 i1, i64 i2, i64 i3) {
  return *(float*)(row_at(tensor, i1, i2, i3) + i0 * tensor.stride[0]);
}

}  // namespace

KERNEL void solve_tri(SolveTriArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  const i64 sides = y.n[0] * y.n[2] * y.n[3], last = y.n[1] - 1;
  if (block() * threads() >= sides) return;
  const Tensor a = tensor_of(p.a, run), b = tensor_of(p.b, run);
  for (i64 side = block() * threads() + thread(); side < sides; side += blocks() * threads()) {
    const i64 r = side % y.n[0], i2 = side / y.n[0] % y.n[2], i3 = side / y.n[0] / y.n[2];
    const i64 a2 = i2 / (y.n[2] / a.n[2]), a3 = i3 / (y.n[3] / a.n[3]);
    for (i64 step = 0; step <= last; ++step) {
      const i64 i = p.upper != 0 ? last - step : step;
      float rest = at(b, r, i, i2, i3);
      for (i64 before = 0; before < step; ++before) {
        const i64 j = p.upper != 0 ? last - before : before;
        rest -= at(a, j, i, a2, a3) * at(y, r, j, i2, i3);
      }
      at(y, r, i, i2, i3) = p.unit != 0 ? rest : rest / at(a, i, i, a2, a3);
    }
  }
}
