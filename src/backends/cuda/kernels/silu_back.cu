// The gradient of silu, an element a thread.
#include "backends/cuda/gpu/activations.h"
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/silu_back.h"

using namespace shunt::cuda::gpu;

KERNEL void silu_back(SiluBackArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor dx = tensor_of(p.dx, run);
  if (is_idle(dx)) return;
  const Tensor dys = tensor_of(p.dy, run), xs = tensor_of(p.x, run);
  for_each_element(dx, [&](i64 i, RowIndex at) {
    const float dy = load<F32>(row_at(dys, at), i, dys.stride[0]);
    const float x = load<F32>(row_at(xs, at), i, xs.stride[0]);
    store<F32>(row_at(dx, at), i, dx.stride[0], dy * sigmoid(x) * (1 + times_sigmoid(x, -x)));
  });
}
