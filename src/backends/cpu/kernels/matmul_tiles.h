// The part of matmul that multiplies by a matrix unit (simd/tiles.h), where the machine has one:
// BF16 as it is, quantised weights in two parts. Columns of x are packed once, into shared scratch,
// in a phase of its own; all matrices that x is multiplied with can use them.
#pragma once

#include <cstring>

#include "backends/cpu/kernels/ahead.h"
#include "backends/cpu/kernels/matmul_int8.h"
#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/float_lanes.h"
#include "backends/cpu/simd/float_many.h"
#include "backends/cpu/simd/tiles.h"

namespace shunt::cpu {

/// With fewer columns splitting weights takes longer than tiles save; BF16 needs none.
inline constexpr std::int64_t kLeastSplitColumns = 128;
inline constexpr std::int64_t kLeastWholeColumns = 16;

/// The layout in scratch of packed columns of x [k, n, ...]: stretch by stretch of k, in each group
/// by group of kTileSide columns. So a stretch of all columns is in one piece. (Groups that are
/// whole columns would be a power of two apart, too.)
struct PackedTiles {
  std::int64_t k = 0;
  std::int64_t n = 0;       ///< columns of a slice
  std::int64_t slices = 0;  ///< of x

  static constexpr std::int64_t kStretch = simd::kWholeDepth;
  static constexpr std::int64_t kGroupBytes = kStretch / simd::kTileDepth * simd::kTileBytes;

  static PackedTiles of(const Sizes& x) { return {x[0], x[1], x[2] * x[3]}; }
  std::int64_t groups() const { return ceil_div(n, simd::kTileSide); }
  std::int64_t stretch_bytes() const { return groups() * kGroupBytes; }
  std::int64_t slice_bytes() const { return ceil_div(k, kStretch) * stretch_bytes(); }
  std::int64_t bytes() const { return slices * slice_bytes(); }
  /// The position of element `first` (a multiple of kTileDepth) of a slice's group.
  std::int64_t at(std::int64_t group, std::int64_t first) const {
    return first / kStretch * stretch_bytes() + group * kGroupBytes +
           first % kStretch / simd::kTileDepth * simd::kTileBytes;
  }
};

/// Floats of a worker's scratch that packing takes, unless columns are F32 in a row.
inline constexpr std::int64_t kTilePackingFloats = simd::kTileSide * PackedTiles::kStretch;

/// Packs group `item` of x, counted over all slices.
inline void pack_tile_group(const TensorArg& x, const PackedTiles& to, std::int64_t item,
                            std::byte* scratch, float* room) {
  const std::int64_t slice = item / to.groups();
  const std::int64_t group = item % to.groups();
  const std::int64_t count = std::min(simd::kTileSide, to.n - group * simd::kTileSide);
  const auto column = [&](std::int64_t c) {
    return x.row(group * simd::kTileSide + c, slice % x.sizes[2], slice / x.sizes[2]);
  };
  const bool plain = x.dtype == DType::kF32 && has_plain_rows(x);
  for (std::int64_t first = 0; first < to.k; first += PackedTiles::kStretch) {
    const std::int64_t here = std::min(PackedTiles::kStretch, to.k - first);
    const float* values = room;
    std::int64_t stride = PackedTiles::kStretch;
    if (plain) {
      values = as_f32(column(0)) + first;
      stride = x.strides[1] / static_cast<std::int64_t>(sizeof(float));
    } else {
      for (std::int64_t c = 0; c < count; ++c) {
        read_f32(x, column(c), first, here, room + c * PackedTiles::kStretch);
      }
    }
    simd::pack_tile_columns(x.level, values, stride, count, here,
                            scratch + slice * to.slice_bytes() + to.at(group, first));
  }
}

/// The most rows of a panel, and rows and columns of an item. Each pass over a stretch of the
/// item's columns, which the L2 cache holds, serves one panel. Each pass over all columns, out of
/// the L3 cache or memory, serves one item. Sums of an item are kept while k goes by, one column
/// after the other. (In y they are as far apart as columns are, often a power of two, which the
/// caches have no room for.)
inline constexpr std::int64_t kTilePanelRows = 2 * simd::kTileSide;
inline constexpr std::int64_t kUnitRows = 4 * kTilePanelRows;
inline constexpr std::int64_t kUnitColumns = 512;
/// Bytes of a worker's scratch that multiply_by_tiles() takes: a panel, its codes, and sums.
inline constexpr std::int64_t kTilesScratch =
    simd::kTilePanelBytes + simd::kInt8PanelBytes +
    kUnitRows * kUnitColumns * static_cast<std::int64_t>(sizeof(float));

/// Elements [k, k + depth) of `rows` rows of w as tiles.
inline simd::TileRows tile_rows(const TensorArg& w, std::int64_t rows, std::int64_t k,
                                std::int64_t depth, std::byte* panel, std::byte* codes) {
  const DTypeTrait& type = trait(w.dtype);
  const std::int64_t at = k / type.block_elements * static_cast<std::int64_t>(type.block_bytes);
  const std::int64_t groups = ceil_div(rows, kGroupRows);
  const std::byte* from = w.data + (w.has_lanes ? kGroupRows * at : at);
  const std::int64_t group_bytes = kGroupRows * w.strides[1];
  if (!simd::is_float_weight(w.dtype)) {
    if (w.has_lanes) {
      simd::decode_lanes(w.level, w.dtype, from, group_bytes, groups, depth, codes);
    } else {
      simd::decode_panel(w.level, w.dtype, from, w.strides[1], rows, depth, codes);
    }
    simd::split_panel(w.level, need_of(w.level, w.dtype, w.has_lanes), codes, depth, panel);
    return simd::TileRows::panel(panel, true);
  }
  const std::int64_t beyond = depth % simd::kTileDepth;
  if (w.has_lanes) {
    constexpr std::int64_t kLaneBytes = kGroupRows * 4;  // of two elements of k
    static_assert(kGroupRows == simd::kTileSide);
    if (beyond == 0 && groups == 2) return {from, kLaneBytes, group_bytes, 0};
    simd::pack_lanes(w.level, w.dtype, from, group_bytes, groups, depth, panel);
  } else {
    simd::pack_rows(w.level, w.dtype, from, w.strides[1], rows, depth, panel);
  }
  if (beyond != 0) {
    std::memset(panel + ceil_div(depth, 2) * simd::kPanelRowBytes, 0,
                static_cast<std::size_t>((simd::kTileDepth - beyond) / 2 * simd::kPanelRowBytes));
  }
  return simd::TileRows::panel(panel, false);
}

/// y[r + c * y_stride] for `rows` (at most kUnitRows) rows of w and `columns` (at most
/// kUnitColumns) of a slice of packed columns. Rows are from w.data on, plain or in whole groups.
/// Columns are from `first`, a multiple of kTileSide.
inline void multiply_by_tiles(const TensorArg& w, std::int64_t rows, const PackedTiles& x,
                              const std::byte* slice, std::int64_t first, std::int64_t columns,
                              float* y, std::int64_t y_stride, std::byte* scratch) {
  constexpr std::int64_t kColumns = 2 * simd::kTileSide;
  std::byte* codes = scratch + simd::kTilePanelBytes;
  float* sums = reinterpret_cast<float*>(codes + simd::kInt8PanelBytes);
  const std::int64_t most = simd::is_float_weight(w.dtype) ? simd::kWholeDepth : simd::kSplitDepth;
  const simd::TileUnit unit;
  // Once where k is 0, to write zeros.
  for (std::int64_t k = 0; k == 0 || k < x.k; k += most) {
    const std::int64_t depth = std::min(most, x.k - k);
    TensorArg panel = w;
    for (std::int64_t r = 0; r < rows; r += kTilePanelRows) {
      const std::int64_t here = std::min(kTilePanelRows, rows - r);
      panel.data = w.data + r * w.strides[1];
      const simd::TileRows w_tiles = tile_rows(panel, here, k, depth, scratch, codes);
      const Stretch next = Stretch::after(panel, here, k + depth, most);
      for (std::int64_t c = 0; c < columns; c += kColumns) {
        next.ask(c, std::min(columns, c + kColumns), columns);
        const simd::TileColumns x_tiles = {
            depth == 0 ? slice : slice + x.at((first + c) / simd::kTileSide, k),
            columns - c > simd::kTileSide ? PackedTiles::kGroupBytes : 0};
        unit.multiply(w_tiles, x_tiles, ceil_div(depth, simd::kTileDepth),
                      sums + r * kUnitColumns + c * kTilePanelRows, kTilePanelRows, k > 0);
      }
    }
  }
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < rows; r += kTilePanelRows) {
      std::memcpy(y + c * y_stride + r, sums + r * kUnitColumns + c * kTilePanelRows,
                  static_cast<std::size_t>(std::min(kTilePanelRows, rows - r)) * sizeof(float));
    }
  }
}

}  // namespace shunt::cpu
