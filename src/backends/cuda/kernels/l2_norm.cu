// Rows of length 1: a row a block.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/squares.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/l2_norm.h"

using namespace shunt::cuda::gpu;

namespace {

/// x / length, where x = load(i), for all i; 0 where the row is. False where F32 has no room for
/// the squares.
template <class Sum, class Load, class Store>
DEVICE bool scale_row(i64 n, float eps, const Load& load_at, const Store& store_at) {
  Sum squares = 0;
  for (i64 i = thread(); i < n; i += threads()) {
    const Sum value = load_at(i);
    squares += value * value;
  }
  squares = block_total(squares);
  if (!has_room_for(squares)) return false;
  Sum length = sqrt(squares);
  if (length < eps) length = eps;
  for (i64 i = thread(); i < n; i += threads())
    store_at(i, length == 0 ? 0 : (float)(load_at(i) / length));
  return true;
}

template <class T>
DEVICE void compute(const L2NormArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (block() >= count_rows(y)) return;
  const Tensor x = tensor_of(p.x, run);
  for (i64 row = block(); row < count_rows(y); row += blocks()) {
    const RowIndex at = row_index(y, row);
    const u8* from = row_at(x, at);
    u8* to = row_at(y, at);
    const auto load_at = [&](i64 i) { return load<T>(from, i, x.stride[0]); };
    const auto store_at = [&](i64 i, float value) { store<T>(to, i, y.stride[0], value); };
    compute_with_room(
        [&](auto number) { return scale_row<decltype(number)>(y.n[0], p.eps, load_at, store_at); });
  }
}

}  // namespace

#define L2_NORM(T)                        \
  KERNEL void l2_norm_##T(L2NormArgs p) { \
    compute<T>(p);                        \
  }
FOR_SINGLE_TYPES(L2_NORM)
