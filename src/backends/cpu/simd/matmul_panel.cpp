#include "backends/cpu/simd/matmul.h"

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/matmul_panel.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/dispatch.h"
#include "backends/cpu/simd/loops-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

inline constexpr int kRows = static_cast<int>(kPanelRows);
/// Columns of a tile: kRows * kColumns sums, a vector of each column and one of a row fit the
/// registers, of which AVX-512 and NEON have 32, the others 16.
inline constexpr int kColumns = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 6 : 3;

// to[i] = (or +=, if `add`) the sum of the lanes of vector number i of four.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void store_sums(V a, V b, V c, V e, float* to, bool add) {
  const float sums[] = {hn::GetLane(a), hn::GetLane(b), hn::GetLane(c), hn::GetLane(e)};
  for (int i = 0; i < 4; ++i) to[i] = add ? to[i] + sums[i] : sums[i];
}
#else
template <class DF>
HWY_INLINE hn::Vec<hn::FixedTag<float, 4> > sum_blocks(DF d, hn::Vec<DF> v) {
  if constexpr (hn::MaxLanes(d) == 4) {
    return v;
  } else {
    const hn::Half<DF> half;
    return sum_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

/// Within blocks of four lanes it is a transposition that adds.
HWY_INLINE void store_sums(V a, V b, V c, V e, float* to, bool add) {
  const D d;
  const hn::Repartition<std::uint64_t, D> d64;
  const auto ab =
      hn::BitCast(d64, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  const auto ce =
      hn::BitCast(d64, hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e)));
  const V all = hn::Add(hn::BitCast(d, hn::InterleaveLower(d64, ab, ce)),
                        hn::BitCast(d, hn::InterleaveUpper(d64, ab, ce)));
  const hn::FixedTag<float, 4> d4;
  const auto sums = sum_blocks(d, all);
  hn::StoreU(add ? hn::Add(hn::LoadU(d4, to), sums) : sums, d4, to);
}
#endif

template <int C>
void multiply_tile(const float* w, std::size_t w_stride, const float* x, std::size_t x_stride,
                   std::size_t k, float* y, std::size_t y_stride, bool add) {
  const D d;
  V acc[C][kRows];
  HWY_UNROLL(8)
  for (int c = 0; c < C; ++c) {
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) acc[c][r] = hn::Zero(d);
  }
  for (std::size_t i = 0; i < k; i += kLanes) {
    V column[C];
    HWY_UNROLL(8)
    for (int c = 0; c < C; ++c)
      column[c] = hn::LoadU(d, x + static_cast<std::size_t>(c) * x_stride + i);
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      const V row = hn::LoadU(d, w + static_cast<std::size_t>(r) * w_stride + i);
      HWY_UNROLL(8)
      for (int c = 0; c < C; ++c) acc[c][r] = hn::MulAdd(row, column[c], acc[c][r]);
    }
  }
  HWY_UNROLL(8)
  for (int c = 0; c < C; ++c) {
    float* to = y + static_cast<std::size_t>(c) * y_stride;
    store_sums(acc[c][0], acc[c][1], acc[c][2], acc[c][3], to, add);
  }
}

using MultiplyTile = void (*)(const float*, std::size_t, const float*, std::size_t, std::size_t,
                              float*, std::size_t, bool);
/// By number of columns, less one.
inline constexpr MultiplyTile kMultiplyTile[] = {
    multiply_tile<1>, multiply_tile<2>, multiply_tile<3>,
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
    multiply_tile<4>, multiply_tile<5>, multiply_tile<6>,
#endif
};
static_assert(sizeof kMultiplyTile / sizeof kMultiplyTile[0] == kColumns);

void MultiplyPanel(const float* w, std::size_t w_stride, std::size_t rows, const float* x,
                   std::size_t x_stride, std::size_t columns, std::size_t k, float* y,
                   std::size_t y_stride, bool add) {
  // Tiles of about the same number of columns: 8 as 4 and 4 is faster than as 6 and 2.
  const std::size_t tiles = (columns + kColumns - 1) / kColumns;
  for (std::size_t t = 0; t < tiles; ++t) {
    const std::size_t c = columns * t / tiles;
    const std::size_t tile_columns = columns * (t + 1) / tiles - c;
    const MultiplyTile multiply = kMultiplyTile[tile_columns - 1];
    const float* from = x + c * x_stride;
    float* to = y + c * y_stride;
    std::size_t r = 0;
    for (; r + kRows <= rows; r += kRows) {
      multiply(w + r * w_stride, w_stride, from, x_stride, k, to + r, y_stride, add);
    }
    if (r == rows) continue;
    float sums[kColumns * kRows] = {};
    multiply(w + r * w_stride, w_stride, from, x_stride, k, sums, kRows, false);
    for (std::size_t i = 0; i < tile_columns; ++i) {
      for (std::size_t j = 0; j < rows - r; ++j) {
        float& y_at = to[i * y_stride + r + j];
        y_at = add ? y_at + sums[i * kRows + j] : sums[i * kRows + j];
      }
    }
  }
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shunt::cpu::simd {

HWY_EXPORT(MultiplyPanel);

namespace {
std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}
}  // namespace

void multiply_panel(Level level, const float* w, std::int64_t w_stride, std::int64_t rows,
                    const float* x, std::int64_t x_stride, std::int64_t columns, std::int64_t k,
                    float* y, std::int64_t y_stride, bool add) {
  SHUNT_DISPATCH(level, MultiplyPanel)
  (w, size(w_stride), size(rows), x, size(x_stride), size(columns), size(k), y, size(y_stride),
   add);
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
