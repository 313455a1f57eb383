// A row a block.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/rms_norm.h"

using namespace shunt::cuda::gpu;

namespace {

template <class T>
DEVICE void compute(const RmsNormArgs& p) {
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

#define RMS_NORM(T)                         \
  KERNEL void rms_norm_##T(RmsNormArgs p) { \
    compute<T>(p);                          \
  }
FOR_SINGLE_TYPES(RMS_NORM)
