// How a warp copies weights to shared memory, and multiplies them with columns.
#pragma once

#include "backends/cuda/gpu/fields.h"
#include "backends/cuda/gpu/warp.h"
#include "backends/cuda/kernels/matmul.h"

namespace shunt::cuda::gpu {

constexpr int kRows = 4, kColumns = 8;  // of a warp
constexpr int kWarps = kMatmulThreads / 32;
static_assert(kRows * kWarps == kMatmulRows && kColumns * kWarps == kMatmulColumns);

struct Column {
  const u8* x;
  const float* scales;
  float* y;
};

/// A row of weights in memory.
struct Row {
  const u8* data;
  i64 stride;  ///< of elements
};

/// A part of the result that has one matrix of weights.
struct Tile {
  const u8* matrix;
  i64 k, strides[2];  ///< of the matrix
  i64 first_row;
  int rows, columns;
  const Column* column;  ///< in shared memory
  u8* slots;             ///< of rows, in shared memory

  ON_DEVICE Row row(int r) const { return {matrix + (first_row + r) * strides[1], strides[0]}; }
};

/// Single elements of any stride. Lanes take neighbouring ones.
template <class Plain>
struct PlainWeights {
  using Stored = typename Plain::Stored;
  static constexpr int kPiece = 512 / sizeof(Stored);  ///< elements that are copied at a time
  static constexpr int kSlot = 512;                    ///< bytes of shared memory for a row
  static constexpr bool kHasTensorForm = false;
  /// Lanes that share the results of a product: each one adds up 1/kShare of them.
  static constexpr int kShare = 1;

  DEVICE void copy(Row row, i64 k, int count, u8* slot) {
    for (int i = lane(); i < count; i += kWarp)
      ((Stored*)slot)[i] = *(const Stored*)(row.data + (k + i) * row.stride);
  }
  template <int kCount>
  DEVICE int first() {
    return 0;
  }
  template <int kCount>
  struct Columns {
    const float* x[kCount];
    /// `columns`: the first one's. `last`: of them.
    ON_DEVICE Columns(const Column* columns, int last) {
#pragma unroll
      for (int c = 0; c < kCount; ++c) x[c] = (const float*)columns[c < last ? c : last].x;
    }
  };
  template <int kCount>
  DEVICE void multiply(const u8* const (&slots)[kRows], const Row (&)[kRows],
                       const Columns<kCount>& columns, i64 k, int count,
                       float (&sums)[kCount * kRows]) {
    for (int i = lane(); i < count; i += kWarp) {
      float w[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) w[r] = Plain::value(((const Stored*)slots[r])[i]);
#pragma unroll
      for (int c = 0; c < kCount; ++c) {
        const float x = columns.x[c][k + i];
#pragma unroll
        for (int r = 0; r < kRows; ++r)
          sums[c * kRows + r] = __builtin_fmaf(w[r], x, sums[c * kRows + r]);
      }
    }
  }
};

constexpr u32 kOnes = 0x01010101;

/// Blocks. Lanes take neighbouring groups, so that four have the elements of a column's scale. Sums
/// of products are integers as far as they have the same scales: bits do not depend on how they are
/// added up, and tensor cores (tensor.h) give the same ones. Part i of eight of a column is added
/// up apart: the numbers i, i + 8, i + 16 and so on of its scales.
template <class Format>
struct BlockWeights {
  using Blocks = Format;
  static constexpr int kBytesOf256 = 256 / Format::kElements * Format::kBytes;
  static constexpr int kPiece = kBytesOf256 >= 256 ? 256 : kBytesOf256 >= 128 ? 512 : 1024;
  static constexpr int kWords = (kPiece / 256 * kBytesOf256 + 3 + 3) / 4;
  /// An odd multiple of 4 words. On tensor cores the lanes of a warp read 4 words of 8 rows each:
  /// no more than two of them share a bank of shared memory.
  static constexpr int kSlot = ((kWords + 3) / 8 * 8 + 4) * 4;
  static constexpr bool kHasTensorForm = Format::kElementsPerScale >= 16;
  static constexpr int kShare = 4;
  static_assert(kShare * kGroup == kScaledElements);

  DEVICE const u8* at(Row row, i64 k) { return row.data + k / Format::kElements * Format::kBytes; }
  /// Bytes keep their place in a word, so that a word is copied at once.
  DEVICE u32 skew(const u8* from) { return (u64)from % 4; }
  /// Of element `i` of the row, in a slot whose first element is number k.
  DEVICE PackedGroup group(const u8* slot, Row row, i64 k, u32 i) {
    return Format::group(slot + skew(at(row, k)) + i / Format::kElements * Format::kBytes,
                         i % Format::kElements);
  }

  DEVICE void copy(Row row, i64 k, int count, u8* slot) {
    const u8* from = at(row, k);
    const u32 first = skew(from), end = first + count / Format::kElements * Format::kBytes;
    const u8* word = from - first;
    const u32 head = first == 0 ? 0 : 4, tail = end / 4 * 4;
    // Words from the start of a sector of 32 bytes on.
    const u32 before = (u64)word % 32 / 4;
    for (u32 i = lane(); i < before + tail / 4; i += kWarp) {
      const u32 byte = (i - before) * 4;
      if (i >= before && byte >= head) *(u32*)(slot + byte) = *(const u32*)(word + byte);
    }
    const u32 here = lane();
    if (here >= first && here < head && here < end) slot[here] = word[here];
    if (tail >= head && tail + here < end) slot[tail + here] = word[tail + here];
  }

  /// The share of a lane: of the results of kCount columns, column by column, the quarter from
  /// first() on.
  template <int kCount>
  DEVICE int first() {
    return (int)(lane() % 2 * 2 + lane() / 2 % 2) * (kCount * kRows / kShare);
  }
  template <int kCount>
  struct Columns {
    static constexpr int kShared = (kCount + kShare - 1) / kShare;  ///< columns of a share
    const u8* x[kCount];
    const float* scales[kShared];
    ON_DEVICE Columns(const Column* columns, int last) {
#pragma unroll
      for (int c = 0; c < kCount; ++c) x[c] = columns[c < last ? c : last].x;
#pragma unroll
      for (int c = 0; c < kShared; ++c) {
        const int column = first<kCount>() / kRows + c;
        scales[c] = columns[column < last ? column : last].scales;
      }
    }
  };
  template <int kCount>
  DEVICE void multiply(const u8* const (&slots)[kRows], const Row (&rows)[kRows],
                       const Columns<kCount>& columns, i64 k, int count,
                       float (&sums)[kCount * kRows / kShare]) {
    for (int section = 0; section < count; section += kWarp * kGroup) {
      const int place = section + (int)lane() * kGroup;
      const bool is_inside = place < count;
      const u32 i = is_inside ? place : 0;
      PackedGroup w[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) w[r] = group(slots[r], rows[r], k, i);
      i32 dots[kCount * kRows], totals[kCount];
#pragma unroll
      for (int c = 0; c < kCount; ++c) {
        const u64 x = *(const u64*)(columns.x[c] + k + i);
        const u32 low = (u32)x, high = (u32)(x >> 32);
        totals[c] = multiply_bytes(low, kOnes, multiply_bytes(high, kOnes, 0));
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          dots[c * kRows + r] =
              multiply_bytes(low, w[r].numbers[0], multiply_bytes(high, w[r].numbers[1], 0));
        }
      }
      float products[kCount * kRows];
      scale<kCount>(w, dots, totals, products);
      if (is_inside) {
#pragma unroll
        for (int n = 0; n < kCount * kRows / kShare; ++n) {
          const float scale = columns.scales[n / kRows][(k + i) / kScaledElements];
          sums[n] = __builtin_fmaf(scale, products[n], sums[n]);
        }
      }
    }
  }

 private:
  /// The products of a share, from the sums of integers in each lane. Integers are added up over
  /// the lanes that have the same scales, then F32.
  template <int kCount>
  DEVICE void scale(const PackedGroup (&w)[kRows], i32* dots, i32* totals, float* products) {
    constexpr int kAll = kCount * kRows;
    constexpr int kLanes = Format::kElementsPerScale / kGroup;  ///< that have the same scales
    if constexpr (kLanes > 1) {
      pair_sums<kAll, 1>(dots);
      pair_sums<kCount, 1>(totals);
    }
    if constexpr (kLanes > 2) {
      pair_sums<kAll / 2, 2>(dots);
      pair_sums<(kCount + 1) / 2, 2>(totals);
    }
    // The rows of one column are shared, too.
    const int first_row = kCount > 1 || kLanes == 1 ? 0
                          : kLanes == 2             ? (int)lane() % 2 * 2
                                                    : first<kCount>();
#pragma unroll
    for (int n = 0; n < kAll / kLanes; ++n) {
      const PackedGroup& of = row_of(w, kCount > 1 ? n % kRows : first_row + n);
      products[n] = of.scale * (float)dots[n];
      if constexpr (Format::kHasOffset) {
        products[n] = __builtin_fmaf(of.offset, (float)totals[n / kRows], products[n]);
      }
    }
    if constexpr (kLanes == 1) pair_sums<kAll, 1>(products);
    if constexpr (kLanes <= 2) pair_sums<kAll / 2, 2>(products);
  }
  /// Without an index into registers.
  DEVICE PackedGroup row_of(const PackedGroup (&w)[kRows], int row) {
    PackedGroup found = w[0];
#pragma unroll
    for (int r = 1; r < kRows; ++r) {
      found.scale = row == r ? w[r].scale : found.scale;
      found.offset = row == r ? w[r].offset : found.offset;
    }
    return found;
  }
};

}  // namespace shunt::cuda::gpu
