#include <algorithm>
#include <array>

#include "backends/cpu/simd/int8.h"
#include "backends/cpu/simd/int8_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/int8_many.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/code_formats-inl.h"
#include "backends/cpu/simd/codes_unpacked-inl.h"
#include "backends/cpu/simd/int8_dispatch.h"
#include "backends/cpu/simd/int8_dot-inl.h"
#include "backends/cpu/simd/int8_panel-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

Int8Need NeedOf(DType type);
void DecodePanel(DType type, const std::byte* w, std::size_t w_stride, std::size_t rows,
                 std::size_t k, std::byte* panel);
void MultiplyInt8Panel(Int8Need need, const std::byte* panel, std::size_t blocks,
                       const std::byte* x, std::size_t columns, float* y, std::size_t y_stride,
                       bool add);

#if HWY_TARGET == HWY_SCALAR

/// No type has codes.
Int8Need NeedOf(DType) {
  return {};
}
void DecodePanel(DType, const std::byte*, std::size_t, std::size_t, std::size_t, std::byte*) {}
void MultiplyInt8Panel(Int8Need, const std::byte*, std::size_t, const std::byte*, std::size_t,
                       float*, std::size_t, bool) {}

#elif SHUNT_COMPILED_HERE

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

#ifndef SHUNT_AVX2_VNNI  // code that multiplies nothing is as at AVX2

/// Rows that are decoded together.
inline constexpr std::size_t kRowsAtOnce = 8;

/// Four i of each 16 codes are in vector i of `to`, of all 4 rows.
HWY_INLINE void transpose_four(const V8 (&rows)[4], V8 (&to)[4]) {
  const DI d;
  const hn::Repartition<std::int64_t, D8> d64;
  const auto lanes = [&](std::size_t r) HWY_ATTR { return hn::BitCast(d, rows[r]); };
  const auto wide = [&](VI fours) HWY_ATTR { return hn::BitCast(d64, fours); };
  const auto ab_low = wide(hn::InterleaveLower(d, lanes(0), lanes(1)));
  const auto ab_high = wide(hn::InterleaveUpper(d, lanes(0), lanes(1)));
  const auto ce_low = wide(hn::InterleaveLower(d, lanes(2), lanes(3)));
  const auto ce_high = wide(hn::InterleaveUpper(d, lanes(2), lanes(3)));
  to[0] = hn::BitCast(D8(), hn::InterleaveLower(d64, ab_low, ce_low));
  to[1] = hn::BitCast(D8(), hn::InterleaveUpper(d64, ab_low, ce_low));
  to[2] = hn::BitCast(D8(), hn::InterleaveLower(d64, ab_high, ce_high));
  to[3] = hn::BitCast(D8(), hn::InterleaveUpper(d64, ab_high, ce_high));
}

/// Vector v of the codes of 8 rows to its places in the blocks of a panel.
template <CodeOrder Order, std::size_t BlockBytes>
HWY_INLINE void transpose(const Unpacked (&rows)[kRowsAtOnce], std::size_t v, std::byte* to) {
  // Where the first four of each 16 elements goes.
  static constexpr auto kAt =
      by_vector<std::uint16_t, kBytes / 16>([](std::size_t vector, std::size_t piece) {
        const std::size_t four = sixteen_at(Order, vector * (kBytes / 16) + piece) * 4;
        return four / 8 * BlockBytes + four % 8 * kFourBytes;
      });
  const auto row = [&](std::size_t r)
                       HWY_ATTR { return hn::Load(D8(), rows[r].codes + v * kBytes); };
  V8 lower[4];
  V8 upper[4];
  transpose_four({row(0), row(1), row(2), row(3)}, lower);
  transpose_four({row(4), row(5), row(6), row(7)}, upper);
  HWY_UNROLL(4)
  for (std::size_t i = 0; i < 4; ++i) {
    store_sixteens(lower[i], upper[i], reinterpret_cast<std::uint8_t*>(to) + i * kFourBytes,
                   kAt[v]);
  }
}

/// 4 neighbouring numbers (times `unit`) of each of 4 rows, to[i] for numbers i of all rows.
HWY_INLINE void transpose_numbers(const float* const (&rows)[4], float unit,
                                  float* const (&to)[4]) {
  const hn::CappedTag<float, 4> d;
  const hn::Repartition<double, decltype(d)> d64;
  const auto times = hn::Set(d, unit);
  const auto row = [&](std::size_t r) HWY_ATTR { return hn::Mul(hn::Load(d, rows[r]), times); };
  const auto ab_low = hn::BitCast(d64, hn::InterleaveLower(d, row(0), row(1)));
  const auto ab_high = hn::BitCast(d64, hn::InterleaveUpper(d, row(0), row(1)));
  const auto ce_low = hn::BitCast(d64, hn::InterleaveLower(d, row(2), row(3)));
  const auto ce_high = hn::BitCast(d64, hn::InterleaveUpper(d, row(2), row(3)));
  hn::Store(hn::BitCast(d, hn::InterleaveLower(d64, ab_low, ce_low)), d, to[0]);
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(d64, ab_low, ce_low)), d, to[1]);
  hn::Store(hn::BitCast(d, hn::InterleaveLower(d64, ab_high, ce_high)), d, to[2]);
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(d64, ab_high, ce_high)), d, to[3]);
}

/// Numbers of the rows' groups of `Blocks` blocks, `Each` a block, to their places.
template <std::size_t Blocks, std::size_t Each, std::size_t BlockBytes>
HWY_INLINE void place_numbers(const Unpacked (&rows)[kRowsAtOnce], float (Unpacked::*numbers)[16],
                              float unit, std::byte* to) {
  for (std::size_t n = 0; n < Blocks * Each; n += 4) {
    for (std::size_t r = 0; r < kRowsAtOnce; r += 4) {
      const float* from[4];
      float* at[4];
      for (std::size_t i = 0; i < 4; ++i) {
        from[i] = rows[r + i].*numbers + n;
        at[i] = reinterpret_cast<float*>(to + (n + i) / Each * BlockBytes +
                                         (n + i) % Each * kFourBytes) +
                r;
      }
      transpose_numbers(from, unit, at);
    }
  }
}

/// How a format's groups are decoded.
struct Decoder {
  Unpack unpack;
  std::size_t group_bytes;
  float unit;
};

/// `Shape` is a Format: all formats of one shape share this function.
template <class Shape>
void decode_rows(const Decoder& format, const std::byte* w, std::size_t w_stride, std::size_t rows,
                 std::size_t k, std::byte* panel) {
  constexpr std::size_t kScales = 32 / Shape::kRun;
  constexpr std::size_t kMins = Shape::kMinRun == 0 ? 0 : 32 / Shape::kMinRun;
  constexpr std::size_t kBlockBytes = panel_block_bytes(kScales, kMins);
  constexpr std::size_t kGroupBlocks = Shape::kGroup / 32;
  const std::size_t group_bytes = format.group_bytes;
  Unpacked groups[kRowsAtOnce];
  for (std::size_t r = 0; r < kRows; r += kRowsAtOnce) {
    for (std::size_t first = 0; first < k; first += Shape::kGroup) {
      const std::size_t here = std::min(Shape::kGroup, k - first);
      std::byte copies[kRowsAtOnce][kMostGroupBytes];
      const std::byte* from[kRowsAtOnce];
      for (std::size_t i = 0; i < kRowsAtOnce; ++i) {
        from[i] = w + (r + i) * w_stride + first / Shape::kGroup * group_bytes;
        if (r + i < rows && here == Shape::kGroup) continue;
        std::fill_n(copies[i], group_bytes, std::byte{0});
        if (r + i < rows) std::copy_n(from[i], group_bytes * here / Shape::kGroup, copies[i]);
        from[i] = copies[i];
      }
      format.unpack(from, kRowsAtOnce, groups);
      // Blocks of the group that are not there must not be written.
      HWY_ALIGN std::byte spare[kGroupBlocks * kBlockBytes];
      std::byte* block = panel + first / 32 * kBlockBytes;
      std::byte* to = (here == Shape::kGroup ? block : spare) + r * 4;
      HWY_UNROLL(16)
      for (std::size_t v = 0; v < Shape::kVectors; ++v) {
        transpose<Shape::kOrder, kBlockBytes>(groups, v, to);
      }
      place_numbers<kGroupBlocks, kScales, kBlockBytes>(groups, &Unpacked::scales, format.unit,
                                                        to + kCodeBytes);
      if constexpr (kMins != 0) {
        place_numbers<kGroupBlocks, kMins, kBlockBytes>(groups, &Unpacked::mins, 1,
                                                        to + kCodeBytes + kScales * kFourBytes);
      }
      if (here == Shape::kGroup) continue;
      for (std::size_t at = 0; at < here / 32 * kBlockBytes; at += kFourBytes) {
        std::memcpy(block + at + r * 4, spare + at + r * 4, 4 * kRowsAtOnce);
      }
    }
  }
}

/// The parts of a format, without its type.
struct ManyEntry {
  Int8Need need;
  Decoder format{};
  void (*decode)(const Decoder&, const std::byte*, std::size_t, std::size_t, std::size_t,
                 std::byte*) = nullptr;
};
inline constexpr auto kManyTable = make_table<ManyEntry>(CodeFormats(), []<class F>() {
  using Shape = Format<F::kGroup, 0, F::kOrder, F::kRun, F::kMinRun>;
  static_assert(F::kGroupBytes <= kMostGroupBytes);
  return ManyEntry{{32 / F::kRun, F::kMinRuns * 32 / F::kGroup, F::kOrder},
                   {unpack<F>, F::kGroupBytes, F::kUnit},
                   decode_rows<Shape>};
});

void DecodePanel(DType type, const std::byte* w, std::size_t w_stride, std::size_t rows,
                 std::size_t k, std::byte* panel) {
  const ManyEntry& entry = kManyTable[static_cast<std::size_t>(type)];
  entry.decode(entry.format, w, w_stride, rows, k, panel);
}

Int8Need NeedOf(DType type) {
  return kManyTable[static_cast<std::size_t>(type)].need;
}

#endif  // SHUNT_AVX2_VNNI

// ---- multiplying

/// The vectors of rows, and the most columns, whose sums are in registers at once.
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

#if HWY_ONCE && !defined(SHUNT_ONE_TARGET)
namespace shunt::cpu::simd {

HWY_EXPORT(NeedOf);
HWY_EXPORT(DecodePanel);
SHUNT_EXPORT_INT8(MultiplyInt8Panel);

namespace {
std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}
}  // namespace

Int8Need int8_need(Level level, DType type) {
  return SHUNT_DISPATCH(level, NeedOf)(type);
}
bool has_codes(Level level, DType type) {
  return int8_need(level, type).scales != 0;
}

void decode_panel(Level level, DType type, const std::byte* w, std::int64_t w_stride,
                  std::int64_t rows, std::int64_t k, std::byte* panel) {
  SHUNT_DISPATCH(level, DecodePanel)(type, w, size(w_stride), size(rows), size(k), panel);
}

void multiply_panel(Level level, Int8Need need, const std::byte* panel, std::int64_t k,
                    const std::byte* x, std::int64_t columns, float* y, std::int64_t y_stride,
                    bool add) {
  SHUNT_DISPATCH_INT8(level, MultiplyInt8Panel)
  (need, panel, size(k) / kInt8Block, x, size(columns), y, size(y_stride), add);
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
