// A row a block.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/params.h"

using namespace shunt::cuda::gpu;

namespace {

template <class T>
DEVICE void compute(const RmsNormParams& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (block() >= count_rows(y)) return;
  const Tensor x = tensor_of(p.x, run);
  for (i64 row = block(); row < count_rows(y); row += blocks()) {
    const RowIndex at = row_index(y, row);
    const u8* from = row_at(x, at);
    float squares = 0;
    for (i64 i = thread(); i < x.n[0]; i += threads()) {
      const float value = load<T>(from, i, x.stride[0]);
      squares += value * value;
    }
    const float mean = block_sum(squares) / (float)x.n[0];
    const float factor = 1 / __builtin_sqrtf(mean + p.eps);
    for (i64 i = thread(); i < x.n[0]; i += threads())
      store<T>(row_at(y, at), i, y.stride[0], load<T>(from, i, x.stride[0]) * factor);
  }
}

}  // namespace

KERNEL void rms_norm_F32(RmsNormParams p) {
  compute<F32>(p);
}
KERNEL void rms_norm_F16(RmsNormParams p) {
  compute<F16>(p);
}
KERNEL void rms_norm_BF16(RmsNormParams p) {
  compute<Bf16>(p);
}
