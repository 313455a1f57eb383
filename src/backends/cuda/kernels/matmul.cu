// Products of matrices: a warp computes one row of the weights times up to kColumns columns. Each
// weight is decoded once for these columns. Lanes share the sum along a row; the order of the sum
// is fixed.
#include "backends/cuda/gpu/block_formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/matmul.h"

using namespace shunt::cuda::gpu;

namespace {

constexpr int kColumns = kMatmulColumns;

/// A row of weights and the columns that it is multiplied with.
struct Item {
  const u8* weights;
  const u8* columns[kColumns];
  int count;
};

/// Single elements, of any stride: neighbouring lanes take neighbouring elements.
template <class Plain>
struct PlainWeights {
  template <class X>
  DEVICE void multiply(const Item& item, i64 n, i64 stride, i64 x_stride, float (&sums)[kColumns]) {
    for (i64 k = lane(); k < n; k += kWarp) {
      const float w = load<Plain>(item.weights, k, stride);
      for (int c = 0; c < kColumns; ++c)
        if (c < item.count) sums[c] += w * load<X>(item.columns[c], k, x_stride);
    }
  }
};

/// Blocks: neighbouring lanes take neighbouring groups.
template <class Format>
struct BlockWeights {
  template <class X>
  DEVICE void multiply(const Item& item, i64 n, i64, i64 x_stride, float (&sums)[kColumns]) {
    for (i64 k = lane() * kGroup; k < n; k += kWarp * kGroup) {
      float w[kGroup];
      decode<Format>(item.weights, k, w);
      for (int c = 0; c < kColumns; ++c) {
        if (c >= item.count) continue;
        for (int i = 0; i < kGroup; ++i)
          sums[c] += w[i] * load<X>(item.columns[c], k + i, x_stride);
      }
    }
  }
};

template <class Weights, class X>
DEVICE void compute(const MatmulArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  const i64 tiles = (y.n[1] + kColumns - 1) / kColumns;
  const i64 items = y.n[0] * tiles * y.n[2] * y.n[3];
  if (block() * warps() >= items) return;
  const Tensor w = tensor_of(p.w, run), x = tensor_of(p.x, run);
  for (i64 at = block() * warps() + warp(); at < items; at += blocks() * warps()) {
    const i64 m = at % y.n[0], tile = at / y.n[0] % tiles, matrix = at / y.n[0] / tiles;
    const i64 i2 = matrix % y.n[2], i3 = matrix / y.n[2];
    Item item;
    item.weights = row_at(w, m, i2 / (y.n[2] / w.n[2]), i3 / (y.n[3] / w.n[3]));
    const i64 first = tile * kColumns;
    item.count = (int)(y.n[1] - first < kColumns ? y.n[1] - first : kColumns);
    for (int c = 0; c < kColumns; ++c) {
      item.columns[c] = row_at(x, first + (c < item.count ? c : 0), i2 / (y.n[2] / x.n[2]),
                               i3 / (y.n[3] / x.n[3]));
    }
    float sums[kColumns] = {};
    Weights::template multiply<X>(item, w.n[0], w.stride[0], x.stride[0], sums);
    for (int c = 0; c < kColumns; ++c) {
      const float sum = warp_reduce<add>(sums[c]);
      if (lane() == 0 && c < item.count)
        *(float*)(row_at(y, first + c, i2, i3) + m * y.stride[0]) = sum;
    }
  }
}

}  // namespace

#define MATMUL(NAME, WEIGHTS)                      \
  KERNEL void matmul_##NAME##_F32(MatmulArgs p) {  \
    compute<WEIGHTS, F32>(p);                      \
  }                                                \
  KERNEL void matmul_##NAME##_F16(MatmulArgs p) {  \
    compute<WEIGHTS, F16>(p);                      \
  }                                                \
  KERNEL void matmul_##NAME##_BF16(MatmulArgs p) { \
    compute<WEIGHTS, BF16>(p);                     \
  }
#define MATMUL_PLAIN(T) MATMUL(T, PlainWeights<T>)
#define MATMUL_BLOCKS(T) MATMUL(T, BlockWeights<T>)
FOR_SINGLE_TYPES(MATMUL_PLAIN)
FOR_BLOCK_FORMATS(MATMUL_BLOCKS)
