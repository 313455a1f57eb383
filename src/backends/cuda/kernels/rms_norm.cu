// A row a block.
#include "backends/cuda/gpu/row_norms.h"
#include "backends/cuda/kernels/rms_norm.h"

using namespace shunt::cuda::gpu;

namespace {

/// False where F32 has no room for the squares.
template <class Number, class Read, class Write>
DEVICE bool scale_row(i64 n, float eps, const Read& read, const Write& write) {
  const Number squares = sum_of_squares<Number>(n, read);
  if (!has_room_for(squares)) return false;
  const Number factor = inverse_root(squares / (Number)n + eps);
  for (i64 i = thread(); i < n; i += threads()) write(i, (float)(read(i) * factor));
  return true;
}

template <class T>
DEVICE void compute(const RmsNormArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const i64 n = size_of(p.y.sizes[0], run);
  for_each_row<T>(p.x, p.y, run, [&](const auto& read, const auto& write) {
    compute_with_room(
        [&](auto number) { return scale_row<decltype(number)>(n, p.eps, read, write); });
  });
}

/// All numbers are F32. A thread reads back only sums that it has written itself.
DEVICE void compute_scaled(const ScaledRmsNormArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (block() >= count_rows(y)) return;
  const Tensor x = tensor_of(p.x, run), added = tensor_of(p.added, run);
  const Tensor sum = tensor_of(p.sum, run), scale = tensor_of(p.scale, run);
  const bool adds = p.sum.data != nullptr;
  for (i64 row = block(); row < count_rows(y); row += blocks()) {
    const RowIndex at = row_index(y, row);
    const u8* from = row_at(x, at);
    if (adds) {
      u8* to = row_at(sum, at);
      const u8* other = row_at(added, at);
      for (i64 i = thread(); i < y.n[0]; i += threads())
        store<F32>(to, i, sum.stride[0],
                   load<F32>(from, i, x.stride[0]) + load<F32>(other, i, added.stride[0]));
      from = to;
    }
    const i64 stride = adds ? sum.stride[0] : x.stride[0];
    const auto read = [&](i64 i) { return load<F32>(from, i, stride); };
    const auto write = [&](i64 i, float value) {
      store<F32>(row_at(y, at), i, y.stride[0], value * load<F32>(scale.data, i, scale.stride[0]));
    };
    compute_with_room(
        [&](auto number) { return scale_row<decltype(number)>(y.n[0], p.eps, read, write); });
  }
}

}  // namespace

KERNEL void rms_norm_scaled(ScaledRmsNormArgs p) {
  compute_scaled(p);
}

#define RMS_NORM(T)                         \
  KERNEL void rms_norm_##T(RmsNormArgs p) { \
    compute<T>(p);                          \
  }
FOR_SINGLE_TYPES(RMS_NORM)
