#include "backends/cpu/simd/chunk.h"

#include <algorithm>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/chunk.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/dispatch.h"
#include "backends/cpu/simd/transpose-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

inline constexpr std::size_t kTokens = kChunkTokens;
inline constexpr std::size_t kWidth = kPanelLanes;
/// Rows of a tile, whose sums are in registers: AVX-512 and NEON have 32 registers, others 16.
inline constexpr std::size_t kTileRows = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 8 : 4;

// ---- turning rows

/// to[k * kWidth + lane] = rows[lane][k] for kLanes rows and k below kLanes.
HWY_INLINE void turn_square(const float* const* rows, std::size_t k, float* to) {
  const D d;
  V v[kLanes];
  HWY_UNROLL(16)
  for (std::size_t i = 0; i < kLanes; ++i) v[i] = hn::LoadU(d, rows[i] + k);
  transpose(v);
  HWY_UNROLL(16)
  for (std::size_t i = 0; i < kLanes; ++i) hn::Store(v[i], d, to + (k + i) * kWidth);
}

/// `lanes` lanes of a panel from `count` rows of n floats.
void turn_rows(const float* const* rows, std::size_t count, std::size_t lanes, std::size_t n,
               float* to) {
  std::size_t lane = 0;
  for (; lane + kLanes <= count; lane += kLanes) {
    std::size_t k = 0;
    for (; k + kLanes <= n; k += kLanes) turn_square(rows + lane, k, to + lane);
    for (; k < n; ++k) {
      for (std::size_t i = lane; i < lane + kLanes; ++i) to[k * kWidth + i] = rows[i][k];
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = lane; i < lanes; ++i) to[k * kWidth + i] = i < count ? rows[i][k] : 0;
  }
  constexpr std::size_t kPadding = kChannelPadding;
  const std::size_t padded = (n + kPadding - 1) / kPadding * kPadding;
  for (std::size_t k = n; k < padded; ++k) std::fill_n(to + k * kWidth, lanes, 0.0F);
}

void PackTokens(const float* const* rows, std::size_t count, std::size_t n, float* to) {
  turn_rows(rows, count, kTokens, n, to);
}

void LoadPanel(const float* rows, std::size_t stride, std::size_t count, std::size_t n,
               float* panel) {
  const float* all[kWidth] = {};
  for (std::size_t i = 0; i < count; ++i) all[i] = rows + i * stride;
  turn_rows(all, count, kWidth, n, panel);
}

void StorePanel(const float* panel, std::size_t count, std::size_t n, float* rows,
                std::size_t stride) {
  const D d;
  std::size_t lane = 0;
  for (; lane + kLanes <= count; lane += kLanes) {
    std::size_t k = 0;
    for (; k + kLanes <= n; k += kLanes) {
      V v[kLanes];
      HWY_UNROLL(16)
      for (std::size_t i = 0; i < kLanes; ++i) v[i] = hn::Load(d, panel + (k + i) * kWidth + lane);
      transpose(v);
      HWY_UNROLL(16)
      for (std::size_t i = 0; i < kLanes; ++i) hn::StoreU(v[i], d, rows + (lane + i) * stride + k);
    }
    for (; k < n; ++k) {
      for (std::size_t i = lane; i < lane + kLanes; ++i)
        rows[i * stride + k] = panel[k * kWidth + i];
    }
  }
  for (; lane < count; ++lane) {
    for (std::size_t k = 0; k < n; ++k) rows[lane * stride + k] = panel[k * kWidth + lane];
  }
}

// ---- products

/// N vectors of each of kTileRows rows of the result.
template <std::size_t N>
HWY_INLINE void multiply_tile(const float* tokens, std::size_t n, const float* panel, float* y) {
  const D d;
  V sums[kTileRows][N];
  HWY_UNROLL(8)
  for (std::size_t r = 0; r < kTileRows; ++r) {
    HWY_UNROLL(2)
    for (std::size_t v = 0; v < N; ++v) sums[r][v] = hn::Zero(d);
  }
  for (std::size_t k = 0; k < n; ++k, tokens += kWidth, panel += kWidth) {
    V row[N];
    HWY_UNROLL(2)
    for (std::size_t v = 0; v < N; ++v) row[v] = hn::Load(d, panel + v * kLanes);
    HWY_UNROLL(8)
    for (std::size_t r = 0; r < kTileRows; ++r) {
      const V token = hn::Set(d, tokens[r]);
      HWY_UNROLL(2)
      for (std::size_t v = 0; v < N; ++v) sums[r][v] = hn::MulAdd(token, row[v], sums[r][v]);
    }
  }
  HWY_UNROLL(8)
  for (std::size_t r = 0; r < kTileRows; ++r) {
    HWY_UNROLL(2)
    for (std::size_t v = 0; v < N; ++v) hn::Store(sums[r][v], d, y + r * kWidth + v * kLanes);
  }
}

template <std::size_t N>
HWY_INLINE void multiply_lanes(const float* tokens, std::size_t n, std::size_t begin,
                               std::size_t end, const float* panel, std::size_t lanes, float* y) {
  for (std::size_t lane = 0; lane < lanes; lane += N * kLanes) {
    for (std::size_t r = begin; r < end; r += kTileRows)
      multiply_tile<N>(tokens + r, n, panel + lane, y + r * kWidth + lane);
  }
}

void MultiplyPanel(const float* tokens, std::size_t n, std::size_t begin, std::size_t end,
                   const float* panel, bool half, float* y) {
  if (!half) return multiply_lanes<2>(tokens, n, begin, end, panel, kWidth, y);
  constexpr std::size_t kVectors = 2 * kLanes <= kTokens ? 2 : 1;
  multiply_lanes<kVectors>(tokens, n, begin, end, panel, kTokens, y);
}

// ---- within a chunk

void SolvePanel(const ChunkNumbers& c, const float* seen, float* u) {
  const D d;
  for (std::size_t lane = 0; lane < kWidth; lane += kLanes) {
    V rest[kTokens];
    HWY_UNROLL(16)
    for (std::size_t i = 0; i < kTokens; ++i) {
      const std::size_t at = i * kWidth + lane;
      rest[i] = hn::NegMulAdd(hn::Set(d, c.found[i]), hn::Load(d, seen + at), hn::Load(d, u + at));
    }
    HWY_UNROLL(16)
    for (std::size_t j = 0; j < kTokens; ++j) {
      const V solved = hn::Mul(hn::Set(d, c.share[j]), rest[j]);
      hn::Store(solved, d, u + j * kWidth + lane);
      HWY_UNROLL(16)
      for (std::size_t i = j + 1; i < kTokens; ++i)
        rest[i] = hn::NegMulAdd(hn::Set(d, c.found_of[j][i]), solved, rest[i]);
    }
  }
}

void ReadPanel(const ChunkNumbers& c, float* y, float* u) {
  const D d;
  for (std::size_t lane = 0; lane < kWidth; lane += kLanes) {
    V sums[kTokens];
    HWY_UNROLL(16)
    for (std::size_t i = 0; i < kTokens; ++i)
      sums[i] = hn::Mul(hn::Set(d, c.read[i]), hn::Load(d, y + i * kWidth + lane));
    HWY_UNROLL(16)
    for (std::size_t j = 0; j < kTokens; ++j) {
      const V added = hn::Load(d, u + j * kWidth + lane);
      hn::Store(hn::Mul(hn::Set(d, c.last[j]), added), d, u + j * kWidth + lane);
      HWY_UNROLL(16)
      for (std::size_t i = j; i < kTokens; ++i)
        sums[i] = hn::MulAdd(hn::Set(d, c.read_of[j][i]), added, sums[i]);
    }
    HWY_UNROLL(16)
    for (std::size_t i = 0; i < kTokens; ++i) hn::Store(sums[i], d, y + i * kWidth + lane);
  }
}

void UpdatePanel(const ChunkNumbers& c, const float* tokens, std::size_t n, const float* u,
                 float* panel) {
  const D d;
  const auto count = static_cast<std::size_t>(c.count);
  const V keep = hn::Set(d, c.keep);
  for (std::size_t lane = 0; lane < kWidth; lane += 2 * kLanes) {
    for (std::size_t k = 0; k < n; k += kTileRows) {
      float* to = panel + k * kWidth + lane;
      V sums[kTileRows][2];
      HWY_UNROLL(8)
      for (std::size_t r = 0; r < kTileRows; ++r) {
        sums[r][0] = hn::Mul(keep, hn::Load(d, to + r * kWidth));
        sums[r][1] = hn::Mul(keep, hn::Load(d, to + r * kWidth + kLanes));
      }
      const float* from = tokens + k * kWidth;
      const float* added = u + lane;
      for (std::size_t i = 0; i < count; ++i, ++from, added += kWidth) {
        const V low = hn::Load(d, added);
        const V high = hn::Load(d, added + kLanes);
        HWY_UNROLL(8)
        for (std::size_t r = 0; r < kTileRows; ++r) {
          const V key = hn::Set(d, from[r * kWidth]);
          sums[r][0] = hn::MulAdd(key, low, sums[r][0]);
          sums[r][1] = hn::MulAdd(key, high, sums[r][1]);
        }
      }
      HWY_UNROLL(8)
      for (std::size_t r = 0; r < kTileRows; ++r) {
        hn::Store(sums[r][0], d, to + r * kWidth);
        hn::Store(sums[r][1], d, to + r * kWidth + kLanes);
      }
    }
  }
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shunt::cpu::simd {

HWY_EXPORT(PackTokens);
HWY_EXPORT(MultiplyPanel);
HWY_EXPORT(SolvePanel);
HWY_EXPORT(ReadPanel);
HWY_EXPORT(UpdatePanel);
HWY_EXPORT(LoadPanel);
HWY_EXPORT(StorePanel);

namespace {
std::size_t floats(std::int64_t n) {
  return static_cast<std::size_t>(n);
}
}  // namespace

void pack_tokens(Level level, const float* const* rows, std::int64_t count, std::int64_t n,
                 float* to) {
  SHUNT_DISPATCH(level, PackTokens)(rows, floats(count), floats(n), to);
}

void multiply_panel(Level level, const float* tokens, std::int64_t n, std::int64_t begin,
                    std::int64_t end, const float* panel, bool half, float* y) {
  SHUNT_DISPATCH(level, MultiplyPanel)
  (tokens, floats(n), floats(begin), floats(end), panel, half, y);
}

void solve_panel(Level level, const ChunkNumbers& numbers, const float* seen, float* u) {
  SHUNT_DISPATCH(level, SolvePanel)(numbers, seen, u);
}

void read_panel(Level level, const ChunkNumbers& numbers, float* y, float* u) {
  SHUNT_DISPATCH(level, ReadPanel)(numbers, y, u);
}

void update_panel(Level level, const ChunkNumbers& numbers, const float* tokens, std::int64_t n,
                  const float* u, float* panel) {
  SHUNT_DISPATCH(level, UpdatePanel)(numbers, tokens, floats(n), u, panel);
}

void load_panel(Level level, const float* rows, std::int64_t stride, std::int64_t count,
                std::int64_t n, float* panel) {
  SHUNT_DISPATCH(level, LoadPanel)(rows, floats(stride), floats(count), floats(n), panel);
}

void store_panel(Level level, const float* panel, std::int64_t count, std::int64_t n, float* rows,
                 std::int64_t stride) {
  SHUNT_DISPATCH(level, StorePanel)(panel, floats(count), floats(n), rows, floats(stride));
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
