// How a warp copies weights to shared memory, and multiplies them with columns.
#pragma once

#include "backends/cuda/gpu/fields.h"
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

/// Single elements of any stride. Lanes take neighbouring ones.
template <class Plain>
struct PlainWeights {
  using Stored = typename Plain::Stored;
  static constexpr int kPiece = 512 / sizeof(Stored);  ///< elements that are copied at a time
  static constexpr int kSlot = 512;                    ///< bytes of shared memory for a row

  DEVICE void copy(Row row, i64 k, int count, u8* slot) {
    for (int i = lane(); i < count; i += kWarp)
      ((Stored*)slot)[i] = *(const Stored*)(row.data + (k + i) * row.stride);
  }
  template <int kCount>
  DEVICE void multiply(const u8* const (&slots)[kRows], const Row (&)[kRows],
                       const Column (&columns)[kCount], i64 k, int count,
                       float (&sums)[kCount * kRows]) {
    for (int i = lane(); i < count; i += kWarp) {
      float w[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) w[r] = Plain::value(((const Stored*)slots[r])[i]);
#pragma unroll
      for (int c = 0; c < kCount; ++c) {
        const float x = ((const float*)columns[c].x)[k + i];
#pragma unroll
        for (int r = 0; r < kRows; ++r)
          sums[c * kRows + r] = __builtin_fmaf(w[r], x, sums[c * kRows + r]);
      }
    }
  }
};

/// Blocks. Lanes take neighbouring groups.
template <class Format>
struct BlockWeights {
  static constexpr int kBytesOf256 = 256 / Format::kElements * Format::kBytes;
  static constexpr int kPiece = kBytesOf256 >= 256 ? 256 : kBytesOf256 >= 128 ? 512 : 1024;
  static constexpr int kSlot = (kPiece / 256 * kBytesOf256 + 3 + 3) / 4 * 4;

  DEVICE const u8* at(Row row, i64 k) { return row.data + k / Format::kElements * Format::kBytes; }
  /// Bytes keep their place in a word, so that a word is copied at once.
  DEVICE u32 skew(const u8* from) { return (u64)from % 4; }

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
  template <int kCount>
  DEVICE void multiply(const u8* const (&slots)[kRows], const Row (&rows)[kRows],
                       const Column (&columns)[kCount], i64 k, int count,
                       float (&sums)[kCount * kRows]) {
    constexpr u32 kOnes = 0x01010101;
    const u8* data[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) data[r] = slots[r] + skew(at(rows[r], k));
    for (u32 i = lane() * kGroup; i < (u32)count; i += kWarp * kGroup) {
      PackedGroup w[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        w[r] =
            Format::group(data[r] + i / Format::kElements * Format::kBytes, i % Format::kElements);
#pragma unroll
      for (int c = 0; c < kCount; ++c) {
        const u64 x = *(const u64*)(columns[c].x + k + i);
        const u32 low = (u32)x, high = (u32)(x >> 32);
        const float scale = columns[c].scales[(k + i) / kScaledElements];
        const float total = (float)multiply_bytes(low, kOnes, multiply_bytes(high, kOnes, 0));
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          const i32 dot =
              multiply_bytes(low, w[r].numbers[0], multiply_bytes(high, w[r].numbers[1], 0));
          float product = w[r].scale * (float)dot;
          if constexpr (Format::kHasOffset) product = __builtin_fmaf(w[r].offset, total, product);
          sums[c * kRows + r] = __builtin_fmaf(scale, product, sums[c * kRows + r]);
        }
      }
    }
  }
};

}  // namespace shunt::cuda::gpu
