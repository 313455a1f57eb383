// Sums of outer products: a thread reads an element, or a group of them, of each row of a, and
// multiplies it with kOutProdRows elements of b.
#include "backends/cuda/gpu/block_formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/out_prod.h"

using namespace shunt::cuda::gpu;

namespace {

constexpr int kRows = kOutProdRows;

template <class Elements>
DEVICE void compute(const OutProdArgs& p) {
  constexpr int kCount = Elements::kCount;
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  Tensor tiles = y;
  tiles.n[0] /= kCount;
  tiles.n[1] = (y.n[1] + kRows - 1) / kRows;
  if (is_idle(tiles)) return;
  const Tensor a = tensor_of(p.a, run), b = tensor_of(p.b, run);
  for_each_element(tiles, [&](i64 tile, RowIndex at) {
    const i64 m = tile * kCount, n = at.i1 * kRows;
    const i64 count = y.n[1] - n;
    const u8* a_row = row_at(a, 0, at.i2 / (y.n[2] / a.n[2]), at.i3 / (y.n[3] / a.n[3]));
    const u8* b_row = row_at(b, 0, at.i2, at.i3) + n * b.stride[0];
    float sums[kRows][kCount] = {};
    for (i64 k = 0; k < a.n[1]; ++k) {
      float left[kCount];
      Elements::read(a_row + k * a.stride[1], m, a.stride[0], left);
      for (int r = 0; r < kRows; ++r) {
        const float right = load<F32>(b_row + k * b.stride[1], r < count ? r : 0, b.stride[0]);
        for (int i = 0; i < kCount; ++i) sums[r][i] += left[i] * right;
      }
    }
    for (int r = 0; r < kRows; ++r)
      for (int i = 0; i < kCount && r < count; ++i)
        store<F32>(row_at(y, n + r, at.i2, at.i3), m + i, y.stride[0], sums[r][i]);
  });
}

}  // namespace

#define OUT_PROD(T, ELEMENTS)               \
  KERNEL void out_prod_##T(OutProdArgs p) { \
    compute<ELEMENTS<T>>(p);                \
  }
#define OUT_PROD_SINGLE(T) OUT_PROD(T, Single)
#define OUT_PROD_GROUPS(T) OUT_PROD(T, Group)
FOR_SINGLE_TYPES(OUT_PROD_SINGLE)
FOR_BLOCK_FORMATS(OUT_PROD_GROUPS)
