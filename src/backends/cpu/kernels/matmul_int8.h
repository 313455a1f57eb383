// The part of matmul that multiplies quantised weights with activations rounded to 8 bits
// (simd/int8.h). Columns of x are rounded once, into shared scratch, in a phase of its own; all
// matrices that x is multiplied with can use them.
#pragma once

#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/int8.h"

namespace shunt::cpu {

/// Where rounded columns of x [k, n, ...] lie in scratch: one after the other where they are few,
/// else in groups.
struct RoundedColumns {
  std::int64_t k = 0;
  std::int64_t n = 0;       ///< columns of a slice
  std::int64_t slices = 0;  ///< of x
  simd::Int8Need need;

  static RoundedColumns of(const Sizes& x, DType w) {
    return {x[0], x[1], x[2] * x[3], simd::int8_need(w)};
  }
  bool few() const { return n <= simd::few_columns(need); }
  /// Items that are rounded at once, of a slice.
  std::int64_t groups() const { return few() ? n : ceil_div(n, simd::kManyColumns); }
  std::int64_t group_bytes() const {
    if (few()) return simd::few_bytes(k);
    return ceil_div(k / simd::kInt8Block * simd::many_block_bytes(need), 64) * 64;
  }
  std::int64_t slice_bytes() const { return groups() * group_bytes(); }
  std::int64_t bytes() const { return slices * slice_bytes(); }
};

/// Floats of a worker's scratch that rounding columns of x takes, unless they are F32 in a row.
inline std::int64_t rounding_floats(std::int64_t k) {
  return std::max(k, simd::kManyColumns * simd::kInt8Depth);
}

/// Rounds group `item` of x, counted over all slices.
inline void round_columns(const TensorArg& x, const RoundedColumns& to, std::int64_t item,
                          std::byte* scratch, float* room) {
  const std::int64_t slice = item / to.groups();
  const std::int64_t group = item % to.groups();
  std::byte* at = scratch + item * to.group_bytes();
  const auto column = [&](std::int64_t c) {
    return x.row(c, slice % x.sizes[2], slice / x.sizes[2]);
  };
  const bool plain = x.dtype == DType::kF32 && has_plain_rows(x);
  if (to.few()) {
    return simd::quantize_few(view_f32(x, column(group), 0, to.k, room), to.k, to.need, at);
  }
  const std::int64_t first_column = group * simd::kManyColumns;
  const std::int64_t count = std::min(simd::kManyColumns, to.n - first_column);
  if (plain) {
    const std::int64_t stride = x.strides[1] / static_cast<std::int64_t>(sizeof(float));
    return simd::quantize_many(as_f32(column(first_column)), stride, count, to.k, to.need, at);
  }
  for (std::int64_t first = 0; first < to.k; first += simd::kInt8Depth) {
    const std::int64_t depth = std::min(simd::kInt8Depth, to.k - first);
    for (std::int64_t c = 0; c < count; ++c) {
      read_f32(x, column(first_column + c), first, depth, room + c * simd::kInt8Depth);
    }
    simd::quantize_many(room, simd::kInt8Depth, count, depth, to.need,
                        at + first / simd::kInt8Block * simd::many_block_bytes(to.need));
  }
}

/// Bytes of a worker's scratch that multiply_rounded() takes: a panel, and a tile of the result
/// whose rows are not all there.
inline constexpr std::int64_t kRoundedTileFloats = simd::kInt8Rows * simd::kManyColumns;
inline constexpr std::int64_t kRoundedScratch =
    simd::kInt8PanelBytes + kRoundedTileFloats * static_cast<std::int64_t>(sizeof(float));

/// y[r + c * y_stride] for `rows` (at most kInt8Rows) rows of w (plain rows, from w.data on) and
/// `columns` of a slice of rounded columns from `first`, a multiple of kManyColumns.
inline void multiply_rounded(const TensorArg& w, std::int64_t rows, const RoundedColumns& x,
                             const std::byte* slice, std::int64_t first, std::int64_t columns,
                             float* y, std::int64_t y_stride, std::byte* scratch) {
  float* tile = reinterpret_cast<float*>(scratch + simd::kInt8PanelBytes);
  const DTypeTrait& type = trait(w.dtype);
  const std::int64_t block_bytes = simd::many_block_bytes(x.need);
  for (std::int64_t k = 0; k < x.k; k += simd::kInt8Depth) {
    const std::int64_t depth = std::min(simd::kInt8Depth, x.k - k);
    simd::decode_panel(
        w.dtype, w.data + k / type.block_elements * static_cast<std::int64_t>(type.block_bytes),
        w.strides[1], rows, depth, scratch);
    for (std::int64_t c = 0; c < columns; c += simd::kManyColumns) {
      const std::int64_t here = std::min(simd::kManyColumns, columns - c);
      const std::byte* group = slice + (first + c) / simd::kManyColumns * x.group_bytes() +
                               k / simd::kInt8Block * block_bytes;
      float* to = y + c * y_stride;
      if (rows == simd::kInt8Rows) {
        simd::multiply_panel(x.need, scratch, depth, group, here, to, y_stride, k > 0);
        continue;
      }
      simd::multiply_panel(x.need, scratch, depth, group, here, tile, simd::kInt8Rows, false);
      for (std::int64_t i = 0; i < here; ++i) {
        for (std::int64_t r = 0; r < rows; ++r) {
          float& at = to[i * y_stride + r];
          at = k > 0 ? at + tile[i * simd::kInt8Rows + r] : tile[i * simd::kInt8Rows + r];
        }
      }
    }
  }
}

}  // namespace shunt::cpu
