// Transposed convolutions: an element of the result a thread, which sums over the windows that meet
// it.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/conv_transpose.h"

using namespace shunt::cuda::gpu;

namespace {

template <class W, class X>
DEVICE void compute(const ConvTransposeArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (is_idle(y)) return;
  const Tensor w = tensor_of(p.w, run), x = tensor_of(p.x, run);
  for_each_element(y, [&](i64 i, RowIndex at) {
    float sum = 0;
    for (i64 ky = 0; ky < w.n[1]; ++ky) {
      const i64 iy = position_of(p.window, 1, at.i1, ky, x.n[1]);
      if (iy < 0) continue;
      for (i64 kx = 0; kx < w.n[0]; ++kx) {
        const i64 ix = position_of(p.window, 0, i, kx, x.n[0]);
        if (ix < 0) continue;
        const u8* from_w = row_at(w, ky, at.i2, 0) + kx * w.stride[0];
        const u8* from_x = row_at(x, iy, 0, at.i3) + ix * x.stride[0];
        for (i64 c = 0; c < x.n[2]; ++c)
          sum += load<W>(from_w, c, w.stride[3]) * load<X>(from_x, c, x.stride[2]);
      }
    }
    store<F32>(row_at(y, at), i, y.stride[0], sum);
  });
}

}  // namespace

#define CONV_TRANSPOSE(W, X)                                  \
  KERNEL void conv_transpose_##W##_##X(ConvTransposeArgs p) { \
    compute<W, X>(p);                                         \
  }
FOR_SINGLE_PAIRS(CONV_TRANSPOSE)
