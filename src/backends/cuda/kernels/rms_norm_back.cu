// The gradient of rms_norm: a row a block.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/math.h"
#include "backends/cuda/gpu/reduce.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/rms_norm_back.h"

using namespace shunt::cuda::gpu;

namespace {

/// Rows up to this length are computed in double precision: in them the two terms may nearly
/// cancel, and in a row of one element always do.
constexpr i64 kShort = 16;

struct Row {
  const u8* dy;
  const u8* x;
  u8* dx;
  i64 dy_stride, x_stride, dx_stride;
};

template <class Number>
DEVICE void compute(const Row& row, i64 n, float eps) {
  Number squares = 0, products = 0;
  for (i64 i = thread(); i < n; i += threads()) {
    const Number x = load<F32>(row.x, i, row.x_stride);
    squares += x * x;
    products += x * load<F32>(row.dy, i, row.dy_stride);
  }
  const auto add_up = [](Number a, Number b) { return a + b; };
  squares = block_reduce(squares, (Number)0, add_up);
  products = block_reduce(products, (Number)0, add_up);
  const Number mean = squares / n + eps;
  const Number r = mean == 0 ? 0 : 1 / sqrt(mean);
  const Number shrink = r * r * r * products / n;
  for (i64 i = thread(); i < n; i += threads()) {
    const Number kept = r * load<F32>(row.dy, i, row.dy_stride);
    store<F32>(row.dx, i, row.dx_stride,
               (float)(kept - shrink * load<F32>(row.x, i, row.x_stride)));
  }
}

}  // namespace

KERNEL void rms_norm_back(RmsNormBackArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor dx = tensor_of(p.dx, run);
  if (block() >= count_rows(dx)) return;
  const Tensor dy = tensor_of(p.dy, run), x = tensor_of(p.x, run);
  for (i64 i = block(); i < count_rows(dx); i += blocks()) {
    const RowIndex at = row_index(dx, i);
    const Row row = {row_at(dy, at), row_at(x, at), row_at(dx, at),
                     dy.stride[0],   x.stride[0],   dx.stride[0]};
    if (dx.n[0] <= kShort) {
      compute<double>(row, dx.n[0], p.eps);
    } else {
      compute<float>(row, dx.n[0], p.eps);
    }
  }
}
