// The part of matmul that multiplies quantised weights with activations rounded to 8 bits
// (simd/int8.h, simd/int8_lanes.h). Columns of x are rounded once, into shared scratch, in a phase
// of its own; all matrices that x is multiplied with can use them.
#pragma once

#include "backends/cpu/kernels/ahead.h"
#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/int8.h"
#include "backends/cpu/simd/int8_lanes.h"

namespace shunt::cpu {

/// With more columns than this, groups of interleaved rows are decoded once for all of them.
inline constexpr std::int64_t kFewLaneColumns = 64;

/// The form of rounded columns that weights of a type need.
inline simd::Int8Need need_of(simd::Level level, DType w, bool interleaved) {
  return interleaved ? simd::lanes_need(level, w) : simd::int8_need(level, w);
}

/// The layout in scratch of rounded columns of x [k, n, ...]. For interleaved weights they are in
/// groups. For plain weights, few columns follow one another, and more are in groups, too.
struct RoundedColumns {
  std::int64_t k = 0;
  std::int64_t n = 0;       ///< columns of a slice
  std::int64_t slices = 0;  ///< of x
  simd::Int8Need need;
  bool lanes = false;  ///< weights are interleaved
  simd::Level level = {};
  bool batch_invariant = false;  ///< any number of columns counts as many

  static RoundedColumns of(const Sizes& x, simd::Level level, DType w, bool interleaved,
                           bool batch_invariant) {
    return {x[0],        x[1],  x[2] * x[3],    need_of(level, w, interleaved),
            interleaved, level, batch_invariant};
  }
  std::int64_t few_columns() const { return lanes ? kFewLaneColumns : simd::kFewInt8Columns; }
  bool few() const { return !batch_invariant && n <= few_columns(); }
  /// Columns of a group; the last one may have fewer.
  std::int64_t together() const {
    if (!few()) return simd::kManyColumns;
    if (!lanes || n == 0) return 1;
    return ceil_div(n, ceil_div(n, simd::most_lane_columns(level)));
  }
  /// How many columns the group that starts at `first` has.
  std::int64_t count(std::int64_t first) const { return std::min(together(), n - first); }
  /// Of a slice.
  std::int64_t groups() const { return ceil_div(n, together()); }
  /// Of the group that starts at `first`, for each block of k: few columns are multiplied with no
  /// room between them, where one is missing in the last group.
  std::int64_t block_bytes(std::int64_t first) const {
    return simd::column_block_bytes(need, few() ? count(first) : together());
  }
  std::int64_t group_bytes() const {
    if (few() && !lanes) return simd::few_bytes(k);
    return ceil_div(k / simd::kInt8Block * block_bytes(0), 64) * 64;
  }
  std::int64_t slice_bytes() const { return groups() * group_bytes(); }
  std::int64_t bytes() const { return slices * slice_bytes(); }

  /// Elements of k that are rounded at once: a group in pieces where its blocks follow one another.
  std::int64_t piece() const { return few() && !lanes ? std::max<std::int64_t>(k, 1) : kPiece; }
  std::int64_t pieces() const { return ceil_div(k, piece()); }
  /// The parts of all slices that can be rounded on their own.
  std::int64_t items() const { return slices * groups() * pieces(); }

  static constexpr std::int64_t kPiece = 2 * simd::kInt8Depth;
};

/// Floats of a worker's scratch that rounding columns of x takes, unless they are F32 in a row.
inline std::int64_t rounding_floats(simd::Level level, std::int64_t k) {
  return std::max(k,
                  std::max(simd::kManyColumns, simd::most_lane_columns(level)) * simd::kInt8Depth);
}

/// Rounds item number `item` of x.
inline void round_columns(const TensorArg& x, const RoundedColumns& to, std::int64_t item,
                          std::byte* scratch, float* room) {
  const std::int64_t first_element = item % to.pieces() * to.piece();
  const std::int64_t number = item / to.pieces();
  const std::int64_t slice = number / to.groups();
  const std::int64_t group = number % to.groups();
  const auto column = [&](std::int64_t c) {
    return x.row(c, slice % x.sizes[2], slice / x.sizes[2]);
  };
  const bool plain = x.dtype == DType::kF32 && has_plain_rows(x);
  if (to.few() && !to.lanes) {
    return simd::quantize_few(to.level, view_f32(x, column(group), 0, to.k, room), to.k, to.need,
                              scratch + number * to.group_bytes());
  }
  const std::int64_t first_column = group * to.together();
  const std::int64_t count = to.count(first_column);
  const std::int64_t end = std::min(first_element + to.piece(), to.k);
  const std::int64_t step = plain ? to.piece() : simd::kInt8Depth;
  for (std::int64_t first = first_element; first < end; first += step) {
    const std::int64_t depth = std::min(step, end - first);
    const float* values = room;
    std::int64_t stride = simd::kInt8Depth;
    if (plain) {
      values = as_f32(column(first_column)) + first;
      stride = x.strides[1] / static_cast<std::int64_t>(sizeof(float));
    } else {
      for (std::int64_t c = 0; c < count; ++c) {
        read_f32(x, column(first_column + c), first, depth, room + c * simd::kInt8Depth);
      }
    }
    simd::quantize_columns(to.level, values, stride, count, to.few() ? count : to.together(), depth,
                           to.need,
                           scratch + number * to.group_bytes() +
                               first / simd::kInt8Block * to.block_bytes(first_column));
  }
}

/// y[r + c * y_stride] for rows of w from w.data on and all columns of a slice that has few.
inline void multiply_few_rounded(const TensorArg& w, std::int64_t rows, const RoundedColumns& x,
                                 const std::byte* slice, float* y, std::int64_t y_stride) {
  if (!x.lanes) {
    return simd::multiply_few(w.level, w.dtype, w.data, w.strides[1], rows, slice, x.n, x.k, y,
                              y_stride);
  }
  // Rows stay in the caches for the next group of columns.
  const std::int64_t step = x.groups() == 1 ? rows : kGroupRows;
  for (std::int64_t r = 0; r < rows; r += step) {
    for (std::int64_t g = 0; g < x.groups(); ++g) {
      const std::int64_t c = g * x.together();
      simd::multiply_lanes(w.level, w.dtype, w.data + r * w.strides[1], std::min(step, rows - r),
                           slice + g * x.group_bytes(), x.count(c), x.k, y + r + c * y_stride,
                           y_stride);
    }
  }
}

/// Bytes of a worker's scratch that multiply_rounded() takes: a panel, and a tile of the result
/// whose rows are not all there.
inline constexpr std::int64_t kRoundedTileFloats = simd::kInt8Rows * simd::kManyColumns;
inline constexpr std::int64_t kRoundedScratch =
    simd::kInt8PanelBytes + kRoundedTileFloats * static_cast<std::int64_t>(sizeof(float));

/// Decodes rows of w from `from` on, k elements of each, to a panel.
inline void decode_rows(const TensorArg& w, bool lanes, const std::byte* from, std::int64_t rows,
                        std::int64_t k, std::byte* panel) {
  if (lanes) {
    return simd::decode_lanes(w.level, w.dtype, from, kGroupRows * w.strides[1],
                              ceil_div(rows, kGroupRows), k, panel);
  }
  simd::decode_panel(w.level, w.dtype, from, w.strides[1], rows, k, panel);
}

inline void write_zeros(std::int64_t rows, std::int64_t columns, float* y, std::int64_t y_stride) {
  for (std::int64_t c = 0; c < columns; ++c) std::fill_n(y + c * y_stride, rows, 0.0F);
}

/// y[r + c * y_stride] for `rows` (at most kInt8Rows) rows of w (from w.data on, whole groups if
/// they are interleaved) and `columns` of a slice of rounded columns from `first`, a multiple of
/// kManyColumns. `rows_follow`: the caller multiplies the rows behind these next.
inline void multiply_rounded(const TensorArg& w, std::int64_t rows, const RoundedColumns& x,
                             const std::byte* slice, std::int64_t first, std::int64_t columns,
                             float* y, std::int64_t y_stride, std::byte* scratch,
                             bool rows_follow = true) {
  if (x.k == 0) return write_zeros(rows, columns, y, y_stride);
  float* tile = reinterpret_cast<float*>(scratch + simd::kInt8PanelBytes);
  const DTypeTrait& type = trait(w.dtype);
  const std::int64_t block_bytes = x.block_bytes(0);
  // Before a place in k are the bytes of the first `together` rows up to that place.
  const std::int64_t together = x.lanes ? kGroupRows : 1;
  for (std::int64_t k = 0; k < x.k; k += simd::kInt8Depth) {
    const std::int64_t depth = std::min(simd::kInt8Depth, x.k - k);
    const std::byte* from =
        w.data + together * (k / type.block_elements * static_cast<std::int64_t>(type.block_bytes));
    decode_rows(w, x.lanes, from, rows, depth, scratch);
    const bool goes_on = rows_follow || k + depth < x.k;
    const Stretch next = goes_on ? Stretch::after(w, rows, k + depth, simd::kInt8Depth) : Stretch();
    for (std::int64_t c = 0; c < columns; c += simd::kManyColumns) {
      const std::int64_t here = std::min(simd::kManyColumns, columns - c);
      next.ask(c, c + here, columns);
      const std::byte* group = slice + (first + c) / simd::kManyColumns * x.group_bytes() +
                               k / simd::kInt8Block * block_bytes;
      float* to = y + c * y_stride;
      if (rows == simd::kInt8Rows) {
        simd::multiply_panel(w.level, x.need, scratch, depth, group, here, to, y_stride, k > 0);
        continue;
      }
      simd::multiply_panel(w.level, x.need, scratch, depth, group, here, tile, simd::kInt8Rows,
                           false);
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
