// x as the products read it.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/tensors.h"
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

/// The larger one, or not-a-number if there is one.
DEVICE float largest_or_nan(float a, float b) {
  return a > b || a != a ? a : b;
}

/// x as numbers of 8 bits: a warp has the elements of a scale, which takes the largest to 127.
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
    const float scale = warp_reduce<largest_or_nan>(__builtin_fabsf(value)) / 127;
    const float inverse = scale > 0 ? 1 / scale : 0;
    ((i8*)row_at(to, at))[i] = (i8)(i32)__builtin_rintf(value * inverse);
    if (lane() == 0) ((float*)row_at(scales, at))[part] = scale;
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
