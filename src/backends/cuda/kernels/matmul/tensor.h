// Products of block formats with many columns on tensor cores. Each bit is that of BlockWeights:
// sums of integers have no order, and those of F32 have the same one here.
#pragma once

#include "backends/cuda/kernels/matmul/weights.h"

namespace shunt::cuda::gpu {

/// Of a warp: 16 rows and two times 8 columns. Lane 4 g + t has rows g and g + 8, and columns 2 t
/// and 2 t + 1 of each eight.
template <class Weights>
struct TensorShare {
  using Format = typename Weights::Blocks;
  static constexpr int kTensorRows = 16, kTensorColumns = 8, kEights = 2;
  static constexpr int kParts = kScaledElements / Format::kElementsPerScale;
  static_assert(kParts <= 2);
  static constexpr int kRowWarps = kMatmulRows / kTensorRows;
  static_assert(kRowWarps * kTensorRows == kMatmulRows);
  static_assert(kWarps / kRowWarps * kEights * kTensorColumns == kMatmulColumns);

  int row, column;  ///< the first ones
  const u8* slots[2];
  Row rows[2];
  const u8* x[kEights];
  const float* scales[kEights][2];
  float sums[kEights][4][kGroup] = {};  ///< parts of sums, see BlockWeights

  DEVICE int of_group() { return (int)lane() / 4; }
  DEVICE int in_group() { return (int)lane() % 4; }

  ON_DEVICE explicit TensorShare(const Tile& tile)
      : row((int)warp() % kRowWarps * kTensorRows),
        column((int)warp() / kRowWarps * kEights * kTensorColumns) {
    const auto below = [](int i, int count) { return i < count ? i : count - 1; };
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int r = below(row + 8 * i + of_group(), tile.rows);
      slots[i] = tile.slots + r * Weights::kSlot;
      rows[i] = tile.row(r);
    }
#pragma unroll
    for (int e = 0; e < kEights; ++e) {
      const int first = column + kTensorColumns * e;
      x[e] = tile.column[below(first + of_group(), tile.columns)].x;
#pragma unroll
      for (int i = 0; i < 2; ++i)
        scales[e][i] = tile.column[below(first + 2 * in_group() + i, tile.columns)].scales;
    }
  }

  /// Adds the products of the 32 elements from `i` on of the slots, as part `part` of the sums.
  ON_DEVICE void multiply(i64 k, u32 i, int part) {
    const u32 own = i + in_group() * kGroup;
    const PackedGroup w[2] = {Weights::group(slots[0], rows[0], k, own),
                              Weights::group(slots[1], rows[1], k, own)};
#pragma unroll
    for (int e = 0; e < kEights; ++e) {
      const u64 numbers = *(const u64*)(x[e] + k + own);
      float products[kParts][4];
#pragma unroll
      for (int p = 0; p < kParts; ++p) multiply_part(w, numbers, p, products[p]);
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        float product = products[0][r];
        if constexpr (kParts == 2) product += products[1][r];
        const float scale = scales[e][r % 2][(k + i) / kScaledElements];
        sums[e][r][part] = __builtin_fmaf(scale, product, sums[e][r][part]);
      }
    }
  }

  /// Writes the sums that are in the tile.
  ON_DEVICE void write(const Tile& tile) const {
#pragma unroll
    for (int e = 0; e < kEights; ++e) {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const float(&s)[kGroup] = sums[e][r];
        const int y_row = row + of_group() + r / 2 * 8;
        const int y_column = column + kTensorColumns * e + 2 * in_group() + r % 2;
        if (y_row < tile.rows && y_column < tile.columns) {
          // The order of warp_sums().
          tile.column[y_column].y[tile.first_row + y_row] =
              ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
        }
      }
    }
  }

 private:
  /// The products of part p of 32 elements, which has scales of its own.
  DEVICE void multiply_part(const PackedGroup (&w)[2], u64 numbers, int p, float (&products)[4]) {
    constexpr int kLanes = Format::kElementsPerScale / kGroup;
    const u32 mask = kParts == 1 || in_group() / kLanes == p ? kAllLanes : 0;
    const u32 column[2] = {(u32)numbers & mask, (u32)(numbers >> 32) & mask};
    const u32 ones[2] = {kOnes, kOnes};
    i32 dots[4], totals[4];
    multiply_tiles(w[0].numbers, w[1].numbers, column, dots);
    if constexpr (Format::kHasOffset) multiply_tiles(ones, ones, column, totals);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const u32 from = of_group() * 4 + p * kLanes;
      const float scale = kParts == 1 ? w[i].scale : shuffle(w[i].scale, from);
      products[2 * i] = scale * (float)dots[2 * i];
      products[2 * i + 1] = scale * (float)dots[2 * i + 1];
      if constexpr (Format::kHasOffset) {
        const float offset = kParts == 1 ? w[i].offset : shuffle(w[i].offset, from);
        products[2 * i] = __builtin_fmaf(offset, (float)totals[2 * i], products[2 * i]);
        products[2 * i + 1] = __builtin_fmaf(offset, (float)totals[2 * i + 1], products[2 * i + 1]);
      }
    }
  }
};

/// All columns of a tile. Its rows are copied once.
template <class Weights>
DEVICE void multiply_blocks(const Tile& tile) {
  TensorShare<Weights> share(tile);
  const bool works = share.row < tile.rows && share.column < tile.columns;
  for (i64 k = 0; k < tile.k; k += Weights::kPiece) {
    const i64 rest = tile.k - k;
    const int count = rest < Weights::kPiece ? (int)rest : Weights::kPiece;
    barrier();
    for (int r = warp(); r < tile.rows; r += kWarps)
      Weights::copy(tile.row(r), k, count, tile.slots + r * Weights::kSlot);
    barrier();
    if (!works) continue;
    for (int section = 0; section < count; section += kWarp * kGroup) {
#pragma unroll
      for (int part = 0; part < kGroup; ++part) {
        const int i = section + part * kScaledElements;
        if (i < count) share.multiply(k, i, part);
      }
    }
  }
  if (works) share.write(tile);
}

}  // namespace shunt::cuda::gpu
