// Softmax and its gradient: a row a block. Sums along a row are read once, results are computed
// from a second read.
#include "backends/cuda/gpu/alibi.h"
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/reduce.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/gpu/warp.h"
#include "backends/cuda/kernels/softmax.h"

using namespace shunt::cuda::gpu;

namespace {

/// The logits of a row.
template <class X>
struct Logits {
  const u8* x;
  const u8* mask;
  i64 stride, mask_stride;
  float scale, slope;
  bool f16_mask;

  ON_DEVICE float operator[](i64 i) const {
    const float value = scale * load<X>(x, i, stride);
    if (mask == nullptr) return value;
    return value +
           slope * (f16_mask ? load<F16>(mask, i, mask_stride) : load<F32>(mask, i, mask_stride));
  }
};

/// The largest logit, and the sum of exponentials relative to it.
struct Part {
  float largest, sum;
};
/// Of a thread's logits. Logits of minus infinity add nothing, not-a-number makes the sum one.
template <class X>
DEVICE Part part_of(const Logits<X>& logits, i64 n) {
  Part part = {-__builtin_inff(), 0};
  for (i64 i = thread(); i < n; i += threads()) {
    const float z = logits[i];
    if (z > part.largest) {
      part = {z, part.sum * exp(part.largest - z) + (z - z) + 1};  // z - z: infinity has no share
    } else if (z != -__builtin_inff()) {
      part.sum += exp(z - part.largest);
    }
  }
  return part;
}
/// Of all threads' parts and a sink.
DEVICE Part combined(const Part& part, float sink) {
  float most = block_reduce(part.largest, -__builtin_inff(), largest);
  if (sink > most || sink != sink) most = sink;
  const bool nothing = part.largest == -__builtin_inff();
  const float share = nothing ? part.sum : part.sum * exp(part.largest - most);
  const float sum = block_sum(share);
  return {most, sink == -__builtin_inff() ? sum : sum + exp(sink - most)};
}

template <class X>
DEVICE void softmax(const SoftmaxArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (block() >= count_rows(y)) return;
  const Tensor x = tensor_of(p.x, run), mask = tensor_of(p.mask, run);
  const Tensor sinks = tensor_of(p.sinks, run);
  for (i64 row = block(); row < count_rows(y); row += blocks()) {
    const RowIndex at = row_index(y, row);
    Logits<X> logits = {row_at(x, at), nullptr, x.stride[0],    mask.stride[0],
                        p.scale,       1,       p.f16_mask != 0};
    if (mask.data != nullptr) {
      logits.mask = row_at(mask, at.i1, at.i2 % mask.n[2], at.i3 % mask.n[3]);
      logits.slope = slope_of(p.max_bias, y.n[2], at.i2);
    }
    float sink = -__builtin_inff();
    if (sinks.data != nullptr) sink = load<F32>(sinks.data, at.i2, sinks.stride[0]);
    const Part whole = combined(part_of(logits, y.n[0]), sink);
    u8* to = row_at(y, at);
    for (i64 i = thread(); i < y.n[0]; i += threads()) {
      const float value = whole.sum == 0 ? 0 : exp(logits[i] - whole.largest) / whole.sum;
      store<F32>(to, i, y.stride[0], value);
    }
  }
}

}  // namespace

#define SOFTMAX(X)                         \
  KERNEL void softmax_##X(SoftmaxArgs p) { \
    softmax<X>(p);                         \
  }
FOR_SINGLE_TYPES(SOFTMAX)

KERNEL void softmax_back(SoftmaxBackArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor dx = tensor_of(p.dx, run);
  if (block() >= count_rows(dx)) return;
  const Tensor dy = tensor_of(p.dy, run), y = tensor_of(p.y, run);
  for (i64 row = block(); row < count_rows(dx); row += blocks()) {
    const RowIndex at = row_index(dx, row);
    const u8* dy_row = row_at(dy, at);
    const u8* y_row = row_at(y, at);
    u8* to = row_at(dx, at);
    float dot = 0;
    for (i64 i = thread(); i < dx.n[0]; i += threads())
      dot += load<F32>(y_row, i, y.stride[0]) * load<F32>(dy_row, i, dy.stride[0]);
    dot = block_sum(dot);
    for (i64 i = thread(); i < dx.n[0]; i += threads()) {
      const float share = p.scale * load<F32>(y_row, i, y.stride[0]);
      store<F32>(to, i, dx.stride[0], share * (load<F32>(dy_row, i, dy.stride[0]) - dot));
    }
  }
}
