#include <algorithm>
#include <array>

#include "backends/cpu/simd/int8.h"
#include "backends/cpu/simd/int8_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/int8_many.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/code_formats-inl.h"
#include "backends/cpu/simd/int8_dispatch.h"
#include "backends/cpu/simd/int8_dot-inl.h"
#include "backends/cpu/simd/int8_panel-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

/// No type has codes.
Int8Need NeedOf(DType) {
  return {};
}
void DecodePanel(DType, const std::byte*, std::size_t, std::size_t, std::size_t, std::byte*) {}
void MultiplyInt8Panel(Int8Need, const std::byte*, std::size_t, const std::byte*, std::size_t,
                       float*, std::size_t, bool) {}

#else

using namespace codes;

inline constexpr std::size_t kRows = kInt8Rows;
inline constexpr std::size_t kColumnsTogether = kManyColumns;
inline constexpr std::size_t kXFourBytes = kColumnsTogether * 4;
inline constexpr std::size_t kXScalesAt = 8 * kXFourBytes;
inline constexpr std::size_t kXSumsAt = kXScalesAt + kXFourBytes;

constexpr std::size_t x_block_bytes(std::size_t scales, std::size_t mins) {
  return kXSumsAt + (mins == 0 ? scales : mins) * kXFourBytes;
}

// ---- decoding

#ifndef SHUNT_AVX2_VNNI  // what multiplies nothing is as at AVX2

/// Vector v of a group's codes, of 4 rows, to their places in the blocks of a panel.
template <CodeOrder Order, std::size_t BlockBytes>
HWY_INLINE void transpose(const V8 (&rows)[4], std::size_t v, std::uint8_t* to) {
  const DI d;
  const hn::Repartition<std::int64_t, D8> d64;
  const auto lanes = [&](std::size_t r) { return hn::BitCast(d, rows[r]); };
  const auto wide = [&](VI fours) { return hn::BitCast(d64, fours); };
  const auto ab_low = wide(hn::InterleaveLower(d, lanes(0), lanes(1)));
  const auto ab_high = wide(hn::InterleaveUpper(d, lanes(0), lanes(1)));
  const auto ce_low = wide(hn::InterleaveLower(d, lanes(2), lanes(3)));
  const auto ce_high = wide(hn::InterleaveUpper(d, lanes(2), lanes(3)));
  // Four i of each 16 elements, of all 4 rows.
  // Where the first four of each 16 elements goes.
  static constexpr auto kAt =
      by_vector<std::uint16_t, kBytes / 16>([](std::size_t vector, std::size_t piece) {
        const std::size_t four = sixteen_at(Order, vector * (kBytes / 16) + piece) * 4;
        return four / 8 * BlockBytes + four % 8 * kFourBytes;
      });
  const auto store = [&](std::size_t i, auto fours) HWY_ATTR {
    store_sixteens(hn::BitCast(D8(), fours), to + i * kFourBytes, kAt[v]);
  };
  store(0, hn::InterleaveLower(d64, ab_low, ce_low));
  store(1, hn::InterleaveUpper(d64, ab_low, ce_low));
  store(2, hn::InterleaveLower(d64, ab_high, ce_high));
  store(3, hn::InterleaveUpper(d64, ab_high, ce_high));
}

/// Scales and minimums of a row's group to their places.
template <class F>
HWY_INLINE void place_numbers(const F& group, float* to, std::size_t block_bytes) {
  constexpr std::size_t kScales = 32 / F::kRun;
  const std::size_t step = block_bytes / sizeof(float);
  const auto place = [&](const float* numbers, std::size_t each, float* at, float unit) {
    for (std::size_t b = 0; b < F::kGroup / 32; ++b, at += step) {
      for (std::size_t i = 0; i < each; ++i) at[i * kRows] = numbers[b * each + i] * unit;
    }
  };
  alignas(64) float scales[F::kRuns];
  group.store_scales(scales);
  place(scales, kScales, to, F::kUnit);
  if constexpr (F::kMinRun != 0) {
    alignas(64) float mins[F::kMinRuns];
    group.store_mins(mins);
    place(mins, 32 / F::kMinRun, to + kScales * kRows, 1);
  }
}

/// 4 rows of a group to a panel, from its row r on.
template <class F, std::size_t block_bytes>
HWY_INLINE void decode_four(const std::byte* (&w)[4], std::size_t r, std::byte* block) {
  const F groups[4] = {F(w[0]), F(w[1]), F(w[2]), F(w[3])};
  HWY_UNROLL(16)
  for (std::size_t v = 0; v < F::kVectors; ++v) {
    const V8 rows[4] = {groups[0].codes(v), groups[1].codes(v), groups[2].codes(v),
                        groups[3].codes(v)};
    transpose<F::kOrder, block_bytes>(rows, v, reinterpret_cast<std::uint8_t*>(block) + r * 4);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    place_numbers(groups[i], reinterpret_cast<float*>(block + kCodeBytes) + r + i, block_bytes);
  }
}

template <class F>
void decode_rows(const std::byte* w, std::size_t w_stride, std::size_t rows, std::size_t k,
                 std::byte* panel) {
  constexpr std::size_t kScales = 32 / F::kRun;
  constexpr std::size_t kMins = F::kMinRun == 0 ? 0 : 32 / F::kMinRun;
  constexpr std::size_t kBlockBytes = panel_block_bytes(kScales, kMins);
  constexpr std::size_t kGroupBlocks = F::kGroup / 32;
  HWY_ALIGN std::byte copies[4][F::kGroupBytes];
  for (std::size_t r = 0; r < kRows; r += 4) {
    for (std::size_t first = 0; first < k; first += F::kGroup) {
      const std::size_t here = std::min(F::kGroup, k - first);
      const std::byte* from[4];
      for (std::size_t i = 0; i < 4; ++i) {
        from[i] = w + (r + i) * w_stride + first / F::kGroup * F::kGroupBytes;
        if (r + i < rows && here == F::kGroup) continue;
        std::fill_n(copies[i], F::kGroupBytes, std::byte{0});
        if (r + i < rows) std::copy_n(from[i], F::kGroupBytes * here / F::kGroup, copies[i]);
        from[i] = copies[i];
      }
      std::byte* block = panel + first / 32 * kBlockBytes;
      if (here == F::kGroup) {
        decode_four<F, kBlockBytes>(from, r, block);
        continue;
      }
      // Some blocks of the group are not there, and must not be written.
      HWY_ALIGN std::byte spare[kGroupBlocks * kBlockBytes];
      decode_four<F, kBlockBytes>(from, r, spare);
      for (std::size_t at = 0; at < here / 32 * kBlockBytes; at += kFourBytes) {
        std::memcpy(block + at + r * 4, spare + at + r * 4, 16);
      }
    }
  }
}

/// What a format is made of, without its type.
struct ManyEntry {
  Int8Need need;
  void (*decode)(const std::byte*, std::size_t, std::size_t, std::size_t, std::byte*) = nullptr;
};
inline constexpr auto kManyTable = make_table<ManyEntry>(CodeFormats(), []<class F>() {
  return ManyEntry{{32 / F::kRun, F::kMinRuns * 32 / F::kGroup, F::kOrder}, decode_rows<F>};
});

void DecodePanel(DType type, const std::byte* w, std::size_t w_stride, std::size_t rows,
                 std::size_t k, std::byte* panel) {
  kManyTable[static_cast<std::size_t>(type)].decode(w, w_stride, rows, k, panel);
}

Int8Need NeedOf(DType type) {
  return kManyTable[static_cast<std::size_t>(type)].need;
}

#endif  // SHUNT_AVX2_VNNI

// ---- multiplying

/// So many vectors of rows, and columns at most, have their sums in registers at once.
inline constexpr std::size_t kRowVectors = 2;
inline constexpr std::size_t kMostColumns = kBytes == 64 ? 6 : 3;

template <std::size_t Scales, std::size_t Mins, std::size_t C>
void multiply_tile(const std::byte* w, std::size_t blocks, const std::byte* x, float* y,
                   std::size_t y_stride, bool add) {
  const D d;
  constexpr bool kOffset = Mins == 0;
  constexpr std::size_t R = kRowVectors;
  const auto w_floats = [&](std::size_t i, std::size_t r) {
    return hn::Load(d,
                    reinterpret_cast<const float*>(w + kCodeBytes + i * kFourBytes) + r * kLanes);
  };
  const auto x_number = [&](std::size_t at, std::size_t c) {
    return hn::Set(d, reinterpret_cast<const float*>(x + at)[c]);
  };
  V sums[R][C];
  HWY_UNROLL(2)
  for (std::size_t r = 0; r < R; ++r) {
    HWY_UNROLL(6)
    for (std::size_t c = 0; c < C; ++c) {
      sums[r][c] = add ? hn::LoadU(d, y + c * y_stride + r * kLanes) : hn::Zero(d);
    }
  }
  for (; blocks > 0; --blocks) {
    HWY_UNROLL(2)
    for (std::size_t s = 0; s < Scales; ++s) {
      VI whole[R][C];
      HWY_UNROLL(6)
      for (std::size_t c = 0; c < C; ++c) {
        VI start = hn::Zero(DI());
        if constexpr (kOffset && kOffsetInSum) {
          start = hn::Set(DI(),
                          reinterpret_cast<const std::int32_t*>(x + kXSumsAt + s * kXFourBytes)[c]);
        }
        HWY_UNROLL(2)
        for (std::size_t r = 0; r < R; ++r) whole[r][c] = start;
      }
      HWY_UNROLL(8)
      for (std::size_t four = s * 8 / Scales; four < (s + 1) * 8 / Scales; ++four) {
        V8 row[R];
        HWY_UNROLL(2)
        for (std::size_t r = 0; r < R; ++r) row[r] = load(w + four * kFourBytes + r * kBytes);
        HWY_UNROLL(6)
        for (std::size_t c = 0; c < C; ++c) {
          const auto* at = reinterpret_cast<const std::int32_t*>(x + four * kXFourBytes) + c;
          const V8 column = hn::BitCast(D8(), hn::Set(DI(), *at));
          HWY_UNROLL(2)
          for (std::size_t r = 0; r < R; ++r) {
            whole[r][c] = dot4<kOffset>(whole[r][c], row[r], column);
          }
        }
      }
      V scale[R];
      HWY_UNROLL(2)
      for (std::size_t r = 0; r < R; ++r) scale[r] = w_floats(s, r);
      HWY_UNROLL(6)
      for (std::size_t c = 0; c < C; ++c) {
        const V x_scale = x_number(kXScalesAt, c);
        HWY_UNROLL(2)
        for (std::size_t r = 0; r < R; ++r) {
          sums[r][c] =
              hn::MulAdd(hn::ConvertTo(d, whole[r][c]), hn::Mul(scale[r], x_scale), sums[r][c]);
        }
      }
    }
    HWY_UNROLL(2)
    for (std::size_t m = 0; m < Mins; ++m) {
      V least[R];
      HWY_UNROLL(2)
      for (std::size_t r = 0; r < R; ++r) least[r] = w_floats(Scales + m, r);
      HWY_UNROLL(6)
      for (std::size_t c = 0; c < C; ++c) {
        const V x_sum = x_number(kXSumsAt + m * kXFourBytes, c);
        HWY_UNROLL(2)
        for (std::size_t r = 0; r < R; ++r) {
          sums[r][c] = hn::NegMulAdd(least[r], x_sum, sums[r][c]);
        }
      }
    }
    w += panel_block_bytes(Scales, Mins);
    x += x_block_bytes(Scales, Mins);
  }
  HWY_UNROLL(2)
  for (std::size_t r = 0; r < R; ++r) {
    HWY_UNROLL(6)
    for (std::size_t c = 0; c < C; ++c) hn::StoreU(sums[r][c], d, y + c * y_stride + r * kLanes);
  }
}

using MultiplyTile = void (*)(const std::byte*, std::size_t, const std::byte*, float*, std::size_t,
                              bool);

/// By number of columns, less one.
template <std::size_t Scales, std::size_t Mins>
inline constexpr MultiplyTile kMultiplyTile[] = {
    multiply_tile<Scales, Mins, 1>, multiply_tile<Scales, Mins, 2>, multiply_tile<Scales, Mins, 3>,
#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3
    multiply_tile<Scales, Mins, 4>, multiply_tile<Scales, Mins, 5>, multiply_tile<Scales, Mins, 6>,
#endif
};

template <std::size_t Scales, std::size_t Mins>
void multiply_group(const std::byte* panel, std::size_t blocks, const std::byte* x,
                    std::size_t columns, float* y, std::size_t y_stride, bool add) {
  static_assert(std::size(kMultiplyTile<Scales, Mins>) == kMostColumns);
  constexpr std::size_t kTileRows = kRowVectors * kLanes;
  for (std::size_t c = 0; c < columns; c += kMostColumns) {
    const MultiplyTile multiply =
        kMultiplyTile<Scales, Mins>[std::min(kMostColumns, columns - c) - 1];
    for (std::size_t r = 0; r < kRows; r += kTileRows) {
      multiply(panel + 4 * r, blocks, x + 4 * c, y + c * y_stride + r, y_stride, add);
    }
  }
}

void MultiplyInt8Panel(Int8Need need, const std::byte* panel, std::size_t blocks,
                       const std::byte* x, std::size_t columns, float* y, std::size_t y_stride,
                       bool add) {
  using Multiply = decltype(&multiply_group<1, 0>);
  static constexpr Multiply kMultiply[2][3] = {
      {multiply_group<1, 0>, multiply_group<1, 1>, multiply_group<1, 2>},
      {multiply_group<2, 0>, nullptr, nullptr}};
  kMultiply[need.scales - 1][need.mins](panel, blocks, x, columns, y, y_stride, add);
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && !defined(SHUNT_AVX2_VNNI)
namespace shunt::cpu::simd {

HWY_EXPORT(NeedOf);
HWY_EXPORT(DecodePanel);
SHUNT_EXPORT(MultiplyInt8Panel);

namespace {
std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}
}  // namespace

Int8Need int8_need(DType type) {
  return HWY_DYNAMIC_DISPATCH(NeedOf)(type);
}
bool has_codes(DType type) {
  return int8_need(type).scales != 0;
}

void decode_panel(DType type, const std::byte* w, std::int64_t w_stride, std::int64_t rows,
                  std::int64_t k, std::byte* panel) {
  HWY_DYNAMIC_DISPATCH(DecodePanel)(type, w, size(w_stride), size(rows), size(k), panel);
}

void multiply_panel(Int8Need need, const std::byte* panel, std::int64_t k, const std::byte* x,
                    std::int64_t columns, float* y, std::int64_t y_stride, bool add) {
  SHUNT_DISPATCH(MultiplyInt8Panel)
  (need, panel, size(k) / kInt8Block, x, size(columns), y, size(y_stride), add);
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
