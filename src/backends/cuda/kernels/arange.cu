// Numbers at equal distances: an element a thread.
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/arange.h"

using namespace shunt::cuda::gpu;

KERNEL void arange(ArangeArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  for_each_element(y, [&](i64 i, RowIndex) {
    *(float*)(y.data + i * y.stride[0]) = (float)(p.start + (double)i * p.step);
  });
}
