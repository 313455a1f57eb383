// The gradient of rms_norm: a row a block.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/row_norms.h"
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

/// With x scaled by r, its own and the row's: r (dy - x mean(x dy)). False where F32 has no room
/// for the squares or the products.
template <class Number>
DEVICE bool compute(const Row& row, i64 n, float eps) {
  Number squares = 0, products = 0;
  for (i64 i = thread(); i < n; i += threads()) {
    const Number x = load<F32>(row.x, i, row.x_stride);
    squares += x * x;
    products += x * load<F32>(row.dy, i, row.dy_stride);
  }
  squares = block_sum(squares);
  products = block_sum(products);
  if (!has_room_for(squares) || !has_room_for(squares + (products < 0 ? -products : products)))
    return false;
  const Number r = inverse_root(squares / n + eps);
  const Number shrink = r * (products / n);
  for (i64 i = thread(); i < n; i += threads()) {
    const Number x = r * load<F32>(row.x, i, row.x_stride);
    store<F32>(row.dx, i, row.dx_stride,
               (float)(r * (load<F32>(row.dy, i, row.dy_stride) - shrink * x)));
  }
  return true;
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
    compute_with_room([&](auto number) {
      const bool too_short = sizeof number < sizeof(double) && dx.n[0] <= kShort;
      return !too_short && compute<decltype(number)>(row, dx.n[0], p.eps);
    });
  }
}
