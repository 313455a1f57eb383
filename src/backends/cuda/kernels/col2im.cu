// Sums of the elements of windows where they overlap: an element of the image a thread.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/col2im.h"

using namespace shunt::cuda::gpu;

namespace {

template <class T>
DEVICE void compute(const Col2imArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (is_idle(y)) return;
  const Tensor x = tensor_of(p.x, run);
  const i64 width = p.window.kernel[0], height = p.window.kernel[1];
  for_each_element(y, [&](i64 i, RowIndex at) {
    float sum = 0;
    for (i64 ky = 0; ky < height; ++ky) {
      const i64 along_y = position_of(p.window, 1, at.i1, ky, x.n[2]);
      if (along_y < 0) continue;
      for (i64 kx = 0; kx < width; ++kx) {
        const i64 along_x = position_of(p.window, 0, i, kx, x.n[1]);
        if (along_x < 0) continue;
        const u8* row = row_at(x, along_x, along_y, at.i3);
        sum += load<T>(row, kx + width * (ky + height * at.i2), x.stride[0]);
      }
    }
    store<F32>(row_at(y, at), i, y.stride[0], sum);
  });
}

}  // namespace

#define COL2IM(T)                        \
  KERNEL void col2im_##T(Col2imArgs p) { \
    compute<T>(p);                       \
  }
FOR_SINGLE_TYPES(COL2IM)
