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

}  // namespace

#define RMS_NORM(T)                         \
  KERNEL void rms_norm_##T(RmsNormArgs p) { \
    compute<T>(p);                          \
  }
FOR_SINGLE_TYPES(RMS_NORM)
