// A tile of a product of matrices, for many columns: rows of one operand, and columns of the other,
// are read as F32 for a stretch of k at a time. The kernel decides which operands these are, and
// where they come from. docs/internals/kernels.md has the reasons for the sizes.
#pragma once

#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/matmul.h"

namespace shunt::cpu {

inline constexpr std::int64_t kTileRows = 32;
inline constexpr std::int64_t kTileColumns = 96;
/// Columns that are packed together: a multiple of those that multiply_panel takes at once.
inline constexpr std::int64_t kGroup = 12;
inline constexpr std::int64_t kDepth = 512;
/// Floats from row to row of a panel: no power of two, so that rows don't compete for the same
/// cache lines.
inline constexpr std::int64_t kPanelStride = kDepth + 16;
/// Floats of scratch that multiply_tile() needs.
inline constexpr std::int64_t kTileScratch = (kTileRows + kGroup) * kPanelStride;

/// y[r + c * y_stride] = sum over k of row r times column c, for at most kTileRows rows and any
/// number of columns; zeros if k is 0. `read_row(r, first, count, to)` gives elements [first, first
/// + count) of a row as F32, where `first` is a multiple of kDepth. `read_column` does the same for
/// a column.
template <class ReadRow, class ReadColumn>
void multiply_tile(simd::Level level, std::int64_t rows, std::int64_t columns, std::int64_t k,
                   ReadRow read_row, ReadColumn read_column, float* y, std::int64_t y_stride,
                   float* scratch) {
  const std::int64_t panel_rows = ceil_div(rows, simd::kPanelRows) * simd::kPanelRows;
  float* panel = scratch;
  float* group = scratch + kTileRows * kPanelStride;
  std::fill(panel + rows * kPanelStride, panel + panel_rows * kPanelStride, 0.0F);
  // Once where k is 0, to write zeros.
  for (std::int64_t first = 0; first == 0 || first < k; first += kDepth) {
    const std::int64_t depth = std::min(kDepth, k - first);
    const std::int64_t padded = ceil_div(depth, simd::kPanelDepth) * simd::kPanelDepth;
    const auto pack = [&](std::int64_t from, std::int64_t count, auto read, float* to) {
      for (std::int64_t i = 0; i < count; ++i, to += kPanelStride) {
        read(from + i, first, depth, to);
        std::fill(to + depth, to + padded, 0.0F);
      }
    };
    pack(0, rows, read_row, panel);
    for (std::int64_t c = 0; c < columns; c += kGroup) {
      const std::int64_t here = std::min(kGroup, columns - c);
      pack(c, here, read_column, group);
      simd::multiply_panel(level, panel, kPanelStride, rows, group, kPanelStride, here, padded,
                           y + c * y_stride, y_stride, first != 0);
    }
  }
}

}  // namespace shunt::cpu
