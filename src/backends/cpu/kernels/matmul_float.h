// The part of matmul that multiplies weights of F32, F16 and BF16 with many columns
// (simd/float_many.h). Columns of x are packed once, into shared scratch, in a phase of its own;
// all matrices that x is multiplied with can use them.
#pragma once

#include "backends/cpu/kernels/ahead.h"
#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/float_lanes.h"
#include "backends/cpu/simd/float_many.h"

namespace shunt::cpu {

/// The layout in scratch of packed columns of x [k, n, ...].
struct PackedColumns {
  simd::FloatWord word = simd::FloatWord::kF32;
  std::int64_t k = 0;
  std::int64_t n = 0;       ///< columns of a slice
  std::int64_t slices = 0;  ///< of x

  static PackedColumns of(const Sizes& x, simd::FloatWord word) {
    return {word, x[0], x[1], x[2] * x[3]};
  }
  std::int64_t groups() const { return ceil_div(n, simd::kFloatColumns); }
  /// Columns of each group but the last, which may have fewer: 13 are 7 and 6, not 12 and 1.
  std::int64_t together() const { return n == 0 ? simd::kFloatColumns : ceil_div(n, groups()); }
  std::int64_t words() const { return ceil_div(k, simd::word_elements(word)); }
  std::int64_t group_bytes() const {
    return ceil_div(words(), simd::kFloatPadding) * simd::kFloatPadding * kWordBytes;
  }
  std::int64_t slice_bytes() const { return groups() * group_bytes(); }
  std::int64_t bytes() const { return slices * slice_bytes(); }

  /// Of all columns of a group.
  static constexpr std::int64_t kWordBytes = simd::kFloatColumns * 4;
};

/// Elements of a column that are read at a time, unless they are F32 in a row, and floats of a
/// worker's scratch that this takes.
inline constexpr std::int64_t kPackingStretch = 256;
inline constexpr std::int64_t kPackingFloats = simd::kFloatColumns * kPackingStretch;

/// Packs group `item` of x, counted over all slices.
inline void pack_group(const TensorArg& x, const PackedColumns& to, std::int64_t item,
                       std::byte* scratch, float* room) {
  const std::int64_t slice = item / to.groups();
  const std::int64_t first_column = item % to.groups() * to.together();
  const std::int64_t count = std::min(to.together(), to.n - first_column);
  std::byte* at = scratch + item * to.group_bytes();
  const auto column = [&](std::int64_t c) {
    return x.row(first_column + c, slice % x.sizes[2], slice / x.sizes[2]);
  };
  if (x.dtype == DType::kF32 && has_plain_rows(x)) {
    const std::int64_t stride = x.strides[1] / static_cast<std::int64_t>(sizeof(float));
    return simd::pack_columns(x.level, to.word, as_f32(column(0)), stride, count, to.k, at);
  }
  for (std::int64_t first = 0; first < to.k; first += kPackingStretch) {
    const std::int64_t here = std::min(kPackingStretch, to.k - first);
    for (std::int64_t c = 0; c < count; ++c) {
      read_f32(x, column(c), first, here, room + c * kPackingStretch);
    }
    simd::pack_columns(x.level, to.word, room, kPackingStretch, count, here,
                       at + first / simd::word_elements(to.word) * PackedColumns::kWordBytes);
  }
}

/// y[r + c * y_stride] for interleaved rows of w, from w.data on, and all packed columns of a
/// slice. Rows are words of two BF16.
inline void multiply_directly(const TensorArg& w, std::int64_t rows, const PackedColumns& x,
                              const std::byte* slice, float* y, std::int64_t y_stride) {
  // Rows stay in the caches for the next group of columns.
  const std::int64_t step = x.groups() == 1 ? rows : kGroupRows;
  for (std::int64_t r = 0; r < rows; r += step) {
    for (std::int64_t g = 0; g < x.groups(); ++g) {
      const std::int64_t c = g * x.together();
      simd::multiply_lane_words(w.level, w.data + r * w.strides[1], std::min(step, rows - r),
                                x.words(), slice + g * x.group_bytes(),
                                std::min(x.together(), x.n - c), y + r + c * y_stride, y_stride);
    }
  }
}

/// y[r + c * y_stride] for `rows` (at most kFloatRows) rows of w (from w.data on, plain or in whole
/// groups) and `columns` of a slice of packed columns from `first`, a multiple of together().
/// `panel` has kFloatPanelBytes.
inline void multiply_words(const TensorArg& w, std::int64_t rows, const PackedColumns& x,
                           const std::byte* slice, std::int64_t first, std::int64_t columns,
                           float* y, std::int64_t y_stride, std::byte* panel) {
  const std::int64_t elements = simd::word_elements(x.word);
  const std::int64_t most = simd::kFloatDepth * elements;
  // Once where k is 0, to write zeros.
  for (std::int64_t k = 0; k == 0 || k < x.k; k += most) {
    const std::int64_t depth = std::min(most, x.k - k);
    const std::byte* from = w.data + k * w.strides[0];
    if (w.has_lanes) {
      simd::pack_lanes(w.level, w.dtype, w.data + kGroupRows * (from - w.data),
                       kGroupRows * w.strides[1], ceil_div(rows, kGroupRows), depth, panel);
    } else {
      simd::pack_rows(w.level, w.dtype, from, w.strides[1], rows, depth, panel);
    }
    // The next stretch comes while this one is multiplied; of groups that is too much at once for
    // few columns, and slows them down.
    const bool asks = !w.has_lanes || columns >= 4 * x.together();
    const Stretch next = Stretch::after(w, rows, k + depth, most);
    for (std::int64_t c = 0; c < columns; c += x.together()) {
      const std::int64_t here = std::min(x.together(), columns - c);
      if (asks) next.ask(c, c + here, columns);
      simd::multiply_packed(w.level, x.word, panel, rows, ceil_div(depth, elements),
                            slice + (first + c) / x.together() * x.group_bytes() +
                                k / elements * PackedColumns::kWordBytes,
                            here, y + c * y_stride, y_stride, k > 0);
    }
  }
}

}  // namespace shunt::cpu
