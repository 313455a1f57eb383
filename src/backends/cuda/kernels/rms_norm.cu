// A row a block.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/squares.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/rms_norm.h"

using namespace shunt::cuda::gpu;

namespace {

/// False where F32 has no room for the squares.
template <class Number, class Read, class Write>
DEVICE bool scale_row(i64 n, float eps, const Read& read, const Write& write) {
  Number squares = 0;
  for (i64 i = thread(); i < n; i += threads()) {
    const Number value = read(i);
    squares += value * value;
  }
  squares = block_total(squares);
  if (!has_room_for(squares)) return false;
  const Number factor = inverse_root(squares / (Number)n + eps);
  for (i64 i = thread(); i < n; i += threads()) write(i, (float)(read(i) * factor));
  return true;
}

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
    u8* to = row_at(y, at);
    const auto read = [&](i64 i) { return load<T>(from, i, x.stride[0]); };
    const auto write = [&](i64 i, float value) { store<T>(to, i, y.stride[0], value); };
    compute_with_room(
        [&](auto number) { return scale_row<decltype(number)>(x.n[0], p.eps, read, write); });
  }
}

}  // namespace

#define RMS_NORM(T)                         \
  KERNEL void rms_norm_##T(RmsNormArgs p) { \
    compute<T>(p);                          \
  }
FOR_SINGLE_TYPES(RMS_NORM)
