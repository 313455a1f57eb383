// Rows of length 1: a row a block.
#include "backends/cuda/gpu/row_norms.h"
#include "backends/cuda/kernels/l2_norm.h"

using namespace shunt::cuda::gpu;

namespace {

/// x / length, where x = read(i), for all i; 0 where the row is. False where F32 has no room for
/// the squares.
template <class Number, class Read, class Write>
DEVICE bool scale_row(i64 n, float eps, const Read& read, const Write& write) {
  const Number squares = sum_of_squares<Number>(n, read);
  if (!has_room_for(squares)) return false;
  Number length = sqrt(squares);
  if (length < eps) length = eps;
  for (i64 i = thread(); i < n; i += threads())
    write(i, length == 0 ? 0 : (float)(read(i) / length));
  return true;
}

template <class T>
DEVICE void compute(const L2NormArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const i64 n = size_of(p.y.sizes[0], run);
  for_each_row<T>(p.x, p.y, run, [&](const auto& read, const auto& write) {
    compute_with_room(
        [&](auto number) { return scale_row<decltype(number)>(n, p.eps, read, write); });
  });
}

}  // namespace

#define L2_NORM(T)                        \
  KERNEL void l2_norm_##T(L2NormArgs p) { \
    compute<T>(p);                        \
  }
FOR_SINGLE_TYPES(L2_NORM)
