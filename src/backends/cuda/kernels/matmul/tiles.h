// Products of matrices, a file a type of weights. A block computes a tile of the result: up to 32
// rows of weights times up to 64 columns. It copies the weights piece by piece to shared memory,
// each byte once, in the order of their addresses. A warp has 4 rows and up to 8 columns at a time,
// or 16 and 16 of them on tensor cores. Its lanes share the sum along a row, whose order is the
// same for any number of columns.
//
// Block formats are multiplied with columns of 8-bit integers, which a first kernel makes, others
// in F32. For matmul_id a kernel sorts the chosen experts: the columns of a tile have one expert.
#pragma once

#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/gpu/warp.h"
#include "backends/cuda/kernels/matmul/tensor.h"

namespace shunt::cuda::gpu {

/// A warp's share of a tile: rows from `row` on, columns from `column` on. The block copies
/// `copied` rows from `first` on.
struct Share {
  int first, copied, row, column;
};

template <class Weights, int kCount>
DEVICE void multiply_share(const Tile& tile, Share share) {
  const int last = share.first + share.copied - 1;
  const bool works = share.row <= last && share.column < tile.columns;
  const int first_column = works ? share.column : 0;
  const typename Weights::template Columns<kCount> columns(tile.column + first_column,
                                                           tile.columns - 1 - first_column);
  Row rows[kRows];
  const u8* slots[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int row = share.row + r <= last ? share.row + r : last;
    rows[r] = tile.row(row);
    slots[r] = tile.slots + (row - share.first) * Weights::kSlot;
  }
  constexpr int kShare = Weights::kShare;
  float sums[kCount * kRows / kShare] = {};
  for (i64 k = 0; k < tile.k; k += Weights::kPiece) {
    const i64 rest = tile.k - k;
    const int count = rest < Weights::kPiece ? (int)rest : Weights::kPiece;
    barrier();
    for (int r = warp(); r < share.copied; r += kWarps)
      Weights::copy(tile.row(share.first + r), k, count, tile.slots + r * Weights::kSlot);
    barrier();
    if (works) Weights::template multiply<kCount>(slots, rows, columns, k, count, sums);
  }
  if (!works) return;
  const float sum = warp_sums<kCount * kRows / kShare, kShare>(sums);
  constexpr int kLanes = kWarp / (kCount * kRows);  // that have the same sum
  const int place = (int)lane() / kShare;
  const int result = Weights::template first<kCount>() + place / kLanes;
  const int row = share.row + result % kRows;
  const int column = share.column + result / kRows;
  if (place % kLanes == 0 && row <= last && column < tile.columns)
    tile.column[column].y[tile.first_row + row] = sum;
}

template <class Weights>
DEVICE void multiply_tile(const Tile& tile) {
  if (tile.columns == 1) {
    multiply_share<Weights, 1>(tile, {0, tile.rows, (int)warp() * kRows, 0});
    return;
  }
  // Few columns: each warp has rows of its own. Many: each has columns of its own.
  const bool few = tile.columns <= kColumns;
  if constexpr (kHasTensorCores && Weights::kHasTensorForm) {
    if (!few) {
      multiply_blocks<Weights>(tile);
      return;
    }
  }
  const int step = few ? kMatmulRows : kRows;
  for (int first = 0; first < tile.rows; first += step) {
    const int copied = tile.rows - first < step ? tile.rows - first : step;
    multiply_share<Weights, kColumns>(
        tile, {first, copied, few ? (int)warp() * kRows : first, few ? 0 : (int)warp() * kColumns});
  }
}

struct Operands {
  Tensor w, x, scales, y;
};

/// The columns of tile `at` of a matmul. Each thread sets one of them; returns the matrix.
DEVICE const u8* columns_of_matrix(const Operands& of, i64 at, Column* columns, int& count) {
  const Tensor& y = of.y;
  const i64 tiles = (y.n[1] + kMatmulColumns - 1) / kMatmulColumns;
  const i64 first = at % tiles * kMatmulColumns;
  const i64 i2 = at / tiles % y.n[2], i3 = at / tiles / y.n[2];
  const i64 x2 = i2 / (y.n[2] / of.x.n[2]), x3 = i3 / (y.n[3] / of.x.n[3]);
  count = y.n[1] - first < kMatmulColumns ? (int)(y.n[1] - first) : kMatmulColumns;
  const i64 column = first + thread();
  if ((int)thread() < count)
    columns[thread()] = {row_at(of.x, column, x2, x3),
                         (const float*)row_at(of.scales, column, x2, x3),
                         (float*)row_at(y, column, i2, i3)};
  return row_at(of.w, 0, i2 / (y.n[2] / of.w.n[2]), i3 / (y.n[3] / of.w.n[3]));
}
/// The same of a matmul_id.
DEVICE const u8* columns_of_expert(const Operands& of, const ExpertLists& experts, i64 at,
                                   Column* columns, int& count) {
  const ExpertTile tile = experts.tiles[at];
  count = (int)tile.count;
  if (thread() < tile.count) {
    const u32 entry = experts.entries[tile.first + thread()];
    const i64 u = entry % of.y.n[1], t = entry / of.y.n[1];
    const i64 column = of.x.n[1] == 1 ? 0 : u;
    columns[thread()] = {row_at(of.x, column, t, 0), (const float*)row_at(of.scales, column, t, 0),
                         (float*)row_at(of.y, u, t, 0)};
  }
  return row_at(of.w, 0, tile.expert, 0);
}

template <class Weights>
DEVICE void multiply(const MatmulArgs& p) {
  SHARED Column columns[kMatmulColumns];
  SHARED u32 slots[kMatmulRows * Weights::kSlot / 4];
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const bool sorted = p.experts.tile_count != nullptr;
  Operands of;
  of.y = tensor_of(p.y, run);
  const i64 row_tiles = (of.y.n[0] + kMatmulRows - 1) / kMatmulRows;
  const i64 column_tiles =
      sorted ? *p.experts.tile_count
             : (of.y.n[1] + kMatmulColumns - 1) / kMatmulColumns * of.y.n[2] * of.y.n[3];
  if (block() >= row_tiles * column_tiles) return;
  of.w = tensor_of(p.w, run);
  of.x = tensor_of(p.columns.data, run);
  of.scales = tensor_of(p.columns.scales, run);
  for (i64 item = block(); item < row_tiles * column_tiles; item += blocks()) {
    const i64 at = item / row_tiles;
    Tile tile;
    barrier();
    tile.matrix = sorted ? columns_of_expert(of, p.experts, at, columns, tile.columns)
                         : columns_of_matrix(of, at, columns, tile.columns);
    barrier();
    tile.column = columns;
    tile.slots = (u8*)slots;
    tile.k = of.w.n[0];
    tile.strides[0] = of.w.stride[0];
    tile.strides[1] = of.w.stride[1];
    tile.first_row = item % row_tiles * kMatmulRows;
    const i64 rows = of.y.n[0] - tile.first_row;
    tile.rows = rows < kMatmulRows ? (int)rows : kMatmulRows;
    multiply_tile<Weights>(tile);
  }
}

}  // namespace shunt::cuda::gpu

#define MATMUL(NAME, WEIGHTS)                                                         \
  KERNEL void matmul_##NAME(shunt::cuda::gpu::MatmulArgs p) {                         \
    shunt::cuda::gpu::multiply<shunt::cuda::gpu::WEIGHTS<shunt::cuda::gpu::NAME>>(p); \
  }
