// The elements that windows see, an element a thread.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/im2col.h"

using namespace shunt::cuda::gpu;

namespace {

DEVICE bool is_inside(i64 i, i64 size) {
  return i >= 0 && i < size;
}

template <class X, class Y>
DEVICE void compute(const Im2colArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (is_idle(y)) return;
  const Images& x = p.x;
  const i64 width = p.window.kernel[0], height = p.window.kernel[1], depth = p.window.kernel[2];
  for_each_element(y, [&](i64 i, RowIndex at) {
    const i64 ix = p.window.at(0, at.i1, i % width);
    const i64 iy = p.window.at(1, at.i2, i / width % height);
    const i64 iz = p.window.at(2, at.i3 % p.slices, i / width / height % depth);
    float value = 0;
    if (is_inside(ix, x.size[0]) && is_inside(iy, x.size[1]) && is_inside(iz, x.size[2])) {
      const u8* row = x.data + iy * x.stride[1] + iz * x.stride[2] +
                      i / (width * height * depth) * x.channel_stride +
                      at.i3 / p.slices * x.image_stride;
      value = load<X>(row, ix, x.stride[0]);
    }
    store<Y>(row_at(y, at), i, y.stride[0], value);
  });
}

}  // namespace

#define IM2COL(X, Y)                           \
  KERNEL void im2col_##X##_##Y(Im2colArgs p) { \
    compute<X, Y>(p);                          \
  }
FOR_SINGLE_PAIRS(IM2COL)
