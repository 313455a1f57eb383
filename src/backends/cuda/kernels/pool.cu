// Pooling: a window a thread.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/gpu/warp.h"
#include "backends/cuda/kernels/pool.h"

using namespace shunt::cuda::gpu;

namespace {

template <class T>
DEVICE void compute(const PoolArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (is_idle(y)) return;
  const Tensor x = tensor_of(p.x, run);
  const float count = (float)(p.window.kernel[0] * p.window.kernel[1]);
  for_each_element(y, [&](i64 i, RowIndex at) {
    const WindowRange along_x = inside_of(p.window, 0, i, x.n[0]);
    const WindowRange along_y = inside_of(p.window, 1, at.i1, x.n[1]);
    float sum = 0, most = -__builtin_inff();
    for (i64 ky = along_y.first; ky < along_y.last; ++ky) {
      const u8* row = row_at(x, p.window.at(1, at.i1, ky), at.i2, at.i3);
      for (i64 kx = along_x.first; kx < along_x.last; ++kx) {
        const float each = load<T>(row, p.window.at(0, i, kx), x.stride[0]);
        sum += each;
        most = largest_or_nan(each, most);
      }
    }
    store<T>(row_at(y, at), i, y.stride[0], p.average != 0 ? sum / count : most);
  });
}

}  // namespace

#define POOL(T)                      \
  KERNEL void pool_##T(PoolArgs p) { \
    compute<T>(p);                   \
  }
FOR_SINGLE_TYPES(POOL)
