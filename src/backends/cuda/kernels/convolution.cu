// Convolutions: an element of the result a thread, which sums over a window in order. Neighbouring
// threads have neighbouring positions and the same filter.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/convolution.h"

using namespace shunt::cuda::gpu;

namespace {

template <class W, class X>
DEVICE void compute(const ConvolutionArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (is_idle(y)) return;
  const Window& window = p.window;
  const Filters& w = p.w;
  const Images& x = p.x;
  for_each_element(y, [&](i64 i, RowIndex at) {
    const i64 position[3] = {i, at.i1, p.deep != 0 ? at.i2 : 0};
    const i64 output = p.deep != 0 ? at.i3 % p.outputs : at.i2;
    const i64 image = p.deep != 0 ? at.i3 / p.outputs : at.i3;
    const u8* filter = w.data + output * w.output_stride;
    const u8* seen =
        x.data + image * x.image_stride + (p.depthwise != 0 ? output * x.channel_stride : 0);
    WindowRange inside[3];
    i64 x_step[3];
    for (int axis = 0; axis < 3; ++axis) {
      inside[axis] = inside_of(window, axis, position[axis], x.size[axis]);
      x_step[axis] = window.dilation[axis] * x.stride[axis];
      seen += window.at(axis, position[axis], 0) * x.stride[axis];
    }
    float sum = 0;
    for (i64 c = 0; c < p.channels; ++c) {
      for (i64 kz = inside[2].first; kz < inside[2].last; ++kz) {
        for (i64 ky = inside[1].first; ky < inside[1].last; ++ky) {
          const u8* w_row = filter + c * w.channel_stride + kz * w.stride[2] + ky * w.stride[1];
          const u8* x_row = seen + c * x.channel_stride + kz * x_step[2] + ky * x_step[1];
          for (i64 kx = inside[0].first; kx < inside[0].last; ++kx)
            sum += load<W>(w_row, kx, w.stride[0]) * load<X>(x_row, kx, x_step[0]);
        }
      }
    }
    store<F32>(row_at(y, at), i, y.stride[0], sum);
  });
}

}  // namespace

#define CONVOLUTION(W, X)                                \
  KERNEL void convolution_##W##_##X(ConvolutionArgs p) { \
    compute<W, X>(p);                                    \
  }
FOR_SINGLE_PAIRS(CONVOLUTION)
