// x as the products read it.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/gpu/warp.h"
#include "backends/cuda/kernels/matmul.h"

using namespace shunt::cuda::gpu;

namespace {

/// x as F32.
template <class X>
DEVICE void convert_columns(const MatmulArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor x = tensor_of(p.x, run);
  if (is_idle(x)) return;
  const Tensor to = tensor_of(p.columns.data, run);
  for_each_element(x, [&](i64 i, RowIndex at) {
    ((float*)row_at(to, at))[i] = load<X>(row_at(x, at), i, x.stride[0]);
  });
}

/// Below this, 127 divided by the largest magnitude is too large for F32: such elements are rounded
/// to multiples of 1/127 of it.
constexpr float kSmallest = 1e-36f;

/// x as numbers of 8 bits: a warp has the elements of a scale, which takes the largest to 127. The
/// scale is not-a-number if an element is infinite or not a number.
template <class X>
DEVICE void round_columns(const MatmulArgs& p) {
  static_assert(kScaledElements == kWarp);
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor x = tensor_of(p.x, run);
  const i64 parts = x.n[0] / kScaledElements, items = parts * count_rows(x);
  if (block() * warps() >= items) return;
  const Tensor to = tensor_of(p.columns.data, run), scales = tensor_of(p.columns.scales, run);
  for (i64 item = block() * warps() + warp(); item < items; item += blocks() * warps()) {
    const i64 part = item % parts, i = part * kScaledElements + lane();
    const RowIndex at = row_index(x, item / parts);
    const float value = load<X>(row_at(x, at), i, x.stride[0]);
    const float largest = warp_reduce<largest_or_nan>(__builtin_fabsf(value));
    const bool finite = largest < __builtin_inff();
    const float most = largest > kSmallest ? largest : kSmallest;
    const float rounded = finite ? __builtin_rintf(value * (127 / most)) : 0;
    ((i8*)row_at(to, at))[i] = (i8)(i32)rounded;
    if (lane() == 0) ((float*)row_at(scales, at))[part] = finite ? most / 127 : __builtin_nanf("");
  }
}

}  // namespace

#define MATMUL_COLUMNS(X)                        \
  KERNEL void matmul_convert_##X(MatmulArgs p) { \
    convert_columns<X>(p);                       \
  }                                              \
  KERNEL void matmul_round_##X(MatmulArgs p) {   \
    round_columns<X>(p);                         \
  }
FOR_SINGLE_TYPES(MATMUL_COLUMNS)
