#include "backends/cpu/simd/float_many.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backends/cpu/simd/int8_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/float_many.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/bf16_round-inl.h"
#include "backends/cpu/simd/dispatch.h"
#include "backends/cpu/simd/formats-inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

inline constexpr std::size_t kRows = kFloatRows;
inline constexpr std::size_t kTogether = kFloatColumns;

// ---- packing

#if HWY_TARGET == HWY_AVX3_DL
/// Elements of BF16, two a lane, as they are.
struct TwoBF16 {
  static constexpr std::size_t kBytes = 2 * kBlock;
  struct Block {
    const float* words;
    HWY_INLINE V vector(std::size_t i) const { return hn::LoadU(D(), words + i * kLanes); }
  };
  static HWY_INLINE Block load(const std::byte* from) {
    return {reinterpret_cast<const float*>(from)};
  }
};
template <class Format>
inline constexpr std::size_t kBlockWords = std::is_same_v<Format, TwoBF16> ? kBlock / 2 : kBlock;
#else
template <class Format>
inline constexpr std::size_t kBlockWords = kBlock;
#endif

#if HWY_TARGET == HWY_SCALAR
/// to[i * stride + r] = word i of row r.
HWY_INLINE void store_transposed(V a, V b, V c, V e, float* to, std::size_t) {
  const V rows[] = {a, b, c, e};
  for (std::size_t r = 0; r < 4; ++r) to[r] = hn::GetLane(rows[r]);
}
#else
/// Block i of four lanes to to[4 * i * stride].
template <class DF>
HWY_INLINE void store_blocks(DF d, hn::Vec<DF> v, float* to, std::size_t stride) {
  if constexpr (hn::MaxLanes(d) == 4) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<DF> half;
    store_blocks(half, hn::LowerHalf(half, v), to, stride);
    store_blocks(half, hn::UpperHalf(half, v), to + hn::MaxLanes(d) / 2 * stride, stride);
  }
}
/// to[i * stride + r] = word i of row r.
HWY_INLINE void store_transposed(V a, V b, V c, V e, float* to, std::size_t stride) {
  const D d;
  const hn::Repartition<std::uint64_t, D> d64;
  const auto ab_low = hn::BitCast(d64, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(d64, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(d64, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(d64, hn::InterleaveUpper(d, c, e));
  store_blocks(d, hn::BitCast(d, hn::InterleaveLower(d64, ab_low, ce_low)), to, stride);
  store_blocks(d, hn::BitCast(d, hn::InterleaveUpper(d64, ab_low, ce_low)), to + stride, stride);
  store_blocks(d, hn::BitCast(d, hn::InterleaveLower(d64, ab_high, ce_high)), to + 2 * stride,
               stride);
  store_blocks(d, hn::BitCast(d, hn::InterleaveUpper(d64, ab_high, ce_high)), to + 3 * stride,
               stride);
}
#endif

/// Words that rows are transposed for at a time: the result fits the L1 cache.
inline constexpr std::size_t kStretch = 256;

/// Rows of k elements, and zeros up to `all` rows, a multiple of 4.
template <class Format>
void transpose(const std::byte* from, std::size_t from_stride, std::size_t rows, std::size_t all,
               std::size_t k, float* to) {
  constexpr std::size_t kElement = Format::kBytes / kBlock;
  HWY_ALIGN std::byte copies[4][Format::kBytes];
  for (std::size_t r = 0; r < all; r += 4) {
    for (std::size_t first = 0; first < k; first += kBlock) {
      const std::size_t here = std::min(kBlock, k - first);
      const std::byte* blocks[4];
      for (std::size_t i = 0; i < 4; ++i) {
        blocks[i] = from + (r + i) * from_stride + first * kElement;
        for (std::size_t b = 0; b < Format::kBytes; b += 64) {
          hwy::Prefetch(blocks[i] + 4 * from_stride + b);
        }
        if (r + i < rows && here == kBlock) continue;
        std::memset(copies[i], 0, Format::kBytes);
        if (r + i < rows) std::memcpy(copies[i], blocks[i], here * kElement);
        blocks[i] = copies[i];
      }
      const typename Format::Block four[] = {Format::load(blocks[0]), Format::load(blocks[1]),
                                             Format::load(blocks[2]), Format::load(blocks[3])};
      float* at = to + first / kBlock * kBlockWords<Format> * all + r;
      HWY_UNROLL(32)
      for (std::size_t v = 0; v < kBlockWords<Format> / kLanes; ++v) {
        store_transposed(four[0].vector(v), four[1].vector(v), four[2].vector(v), four[3].vector(v),
                         at + v * kLanes * all, all);
      }
    }
  }
}

template <class Format>
void pack_panel(const std::byte* w, std::size_t w_stride, std::size_t rows, std::size_t k,
                float* panel) {
  constexpr std::size_t kElements = kStretch * kBlock / kBlockWords<Format>;
  for (std::size_t first = 0; first < k; first += kElements) {
    transpose<Format>(w + first * (Format::kBytes / kBlock), w_stride, rows, kRows,
                      std::min(kElements, k - first), panel);
    panel += kStretch * kRows;
  }
}

void PackRows(DType type, const std::byte* w, std::size_t w_stride, std::size_t rows, std::size_t k,
              float* panel, FloatWord word) {
  switch (type) {
    case DType::kF16:
      return pack_panel<F16>(w, w_stride, rows, k, panel);
    case DType::kBF16:
#if HWY_TARGET == HWY_AVX3_DL
      if (word == FloatWord::kTwoBF16) {
        return pack_panel<TwoBF16>(w, w_stride, rows, k, panel);
      }
#else
      static_cast<void>(word);
#endif
      return pack_panel<BF16>(w, w_stride, rows, k, panel);
    default:
      return pack_panel<F32>(w, w_stride, rows, k, panel);
  }
}

void PackColumns(FloatWord word, const float* x, std::size_t x_stride, std::size_t count,
                 std::size_t k, float* to) {
#if HWY_TARGET == HWY_AVX3_DL
  if (word == FloatWord::kTwoBF16) {
    alignas(64) std::uint16_t rounded[kTogether][kStretch];
    for (std::size_t first = 0; first < k; first += kStretch) {
      const std::size_t here = std::min(kStretch, k - first);
      for (std::size_t c = 0; c < count; ++c) {
        round_to_bf16(x + c * x_stride + first, here, rounded[c]);
      }
      transpose<TwoBF16>(reinterpret_cast<const std::byte*>(rounded), sizeof rounded[0], count,
                         kTogether, here, to + first / 2 * kTogether);
    }
    return;
  }
#else
  static_cast<void>(word);
#endif
  transpose<F32>(reinterpret_cast<const std::byte*>(x), x_stride * sizeof(float), count, kTogether,
                 k, to);
}

// ---- multiplying

/// The vectors of rows, and the most columns, whose sums are in registers at once. AVX-512 and NEON
/// have 32 registers, the others 16.
inline constexpr std::size_t kRowVectors = 2;
inline constexpr std::size_t kMostColumns =
    HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 12 : 6;
static_assert(kTogether % kMostColumns == 0 && kRows % (kRowVectors * kLanes) == 0);

template <FloatWord Word>
HWY_INLINE V add_product(V w, V x, V sum) {
#if HWY_TARGET == HWY_AVX3_DL
  if constexpr (Word == FloatWord::kTwoBF16) {
    // As text, because Highway 1.0.3 knows no target with this instruction.
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(w.raw), "v"(x.raw));
    return sum;
  }
#endif
  return hn::MulAdd(w, x, sum);
}

template <FloatWord Word, std::size_t C>
void multiply_tile(const float* w, std::size_t words, const float* x, float* y,
                   std::size_t y_stride, bool add) {
  const D d;
  constexpr std::size_t R = kRowVectors;
  V sums[R][C];
  HWY_UNROLL(2)
  for (std::size_t r = 0; r < R; ++r) {
    HWY_UNROLL(12)
    for (std::size_t c = 0; c < C; ++c) {
      sums[r][c] = hn::Zero(d);
      // Columns of y are far from each other: asked for now, they are here at the end.
      hwy::Prefetch(y + c * y_stride + r * kLanes);
    }
  }
  for (; words > 0; --words, w += kRows, x += kTogether) {
    V row[R];
    HWY_UNROLL(2)
    for (std::size_t r = 0; r < R; ++r) row[r] = hn::Load(d, w + r * kLanes);
    HWY_UNROLL(12)
    for (std::size_t c = 0; c < C; ++c) {
      const V column = hn::Set(d, x[c]);
      HWY_UNROLL(2)
      for (std::size_t r = 0; r < R; ++r) {
        sums[r][c] = add_product<Word>(row[r], column, sums[r][c]);
      }
    }
  }
  HWY_UNROLL(2)
  for (std::size_t r = 0; r < R; ++r) {
    HWY_UNROLL(12)
    for (std::size_t c = 0; c < C; ++c) {
      float* to = y + c * y_stride + r * kLanes;
      hn::StoreU(add ? hn::Add(hn::LoadU(d, to), sums[r][c]) : sums[r][c], d, to);
    }
  }
}

using MultiplyTile = void (*)(const float*, std::size_t, const float*, float*, std::size_t, bool);

/// By number of columns, less one.
template <FloatWord Word>
inline constexpr MultiplyTile kMultiplyTile[] = {
    multiply_tile<Word, 1>,  multiply_tile<Word, 2>,  multiply_tile<Word, 3>,
    multiply_tile<Word, 4>,  multiply_tile<Word, 5>,  multiply_tile<Word, 6>,
#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
    multiply_tile<Word, 7>,  multiply_tile<Word, 8>,  multiply_tile<Word, 9>,
    multiply_tile<Word, 10>, multiply_tile<Word, 11>, multiply_tile<Word, 12>,
#endif
};

template <FloatWord Word>
void multiply_group(const float* panel, std::size_t rows, std::size_t words, const float* x,
                    std::size_t columns, float* y, std::size_t y_stride, bool add) {
  static_assert(std::size(kMultiplyTile<Word>) == kMostColumns);
  constexpr std::size_t kTileRows = kRowVectors * kLanes;
  const std::size_t tiles = (columns + kMostColumns - 1) / kMostColumns;
  for (std::size_t t = 0; t < tiles; ++t) {
    const std::size_t c = columns * t / tiles;
    const std::size_t here = columns * (t + 1) / tiles - c;
    const MultiplyTile multiply = kMultiplyTile<Word>[here - 1];
    float* to = y + c * y_stride;
    std::size_t r = 0;
    for (; r + kTileRows <= rows; r += kTileRows) {
      multiply(panel + r, words, x + c, to + r, y_stride, add);
    }
    if (r == rows) continue;
    HWY_ALIGN float sums[kMostColumns * kTileRows];
    multiply(panel + r, words, x + c, sums, kTileRows, false);
    for (std::size_t i = 0; i < here; ++i) {
      for (std::size_t j = 0; j < rows - r; ++j) {
        float& at = to[i * y_stride + r + j];
        at = add ? at + sums[i * kTileRows + j] : sums[i * kTileRows + j];
      }
    }
  }
}

void MultiplyPacked(FloatWord word, const float* panel, std::size_t rows, std::size_t words,
                    const float* x, std::size_t columns, float* y, std::size_t y_stride, bool add) {
#if HWY_TARGET == HWY_AVX3_DL
  if (word == FloatWord::kTwoBF16) {
    return multiply_group<FloatWord::kTwoBF16>(panel, rows, words, x, columns, y, y_stride, add);
  }
#else
  static_cast<void>(word);
#endif
  multiply_group<FloatWord::kF32>(panel, rows, words, x, columns, y, y_stride, add);
}

#if HWY_TARGET == HWY_AVX3_DL
/// C columns of one group, straight from memory. Each has two or four sums that take turns: about
/// 20 that do not wait for each other keep the instruction's units busy.
template <std::size_t C>
void multiply_words(const std::byte* w, std::size_t words, const float* x, float* y,
                    std::size_t y_stride) {
  const D d;
  constexpr std::size_t kTurns = C <= 6 ? 4 : 2;
  constexpr std::size_t kAhead = 4096;  // bytes
  V sums[C][kTurns];
  HWY_UNROLL(12)
  for (std::size_t c = 0; c < C; ++c) {
    for (std::size_t t = 0; t < kTurns; ++t) sums[c][t] = hn::Zero(d);
  }
  constexpr std::size_t kWordBytes = kLanes * sizeof(float);
  for (; words >= kTurns; words -= kTurns, w += kTurns * kWordBytes, x += kTurns * kTogether) {
    HWY_UNROLL(4)
    for (std::size_t t = 0; t < kTurns; ++t) {
      __builtin_prefetch(w + kAhead + t * kWordBytes, 0, 3);
      const V row = hn::LoadU(d, reinterpret_cast<const float*>(w + t * kWordBytes));
      HWY_UNROLL(12)
      for (std::size_t c = 0; c < C; ++c) {
        asm("vdpbf16ps %2%{1to16%}, %1, %0"
            : "+v"(sums[c][t].raw)
            : "v"(row.raw), "m"(x[t * kTogether + c]));
      }
    }
  }
  for (; words > 0; --words, w += kWordBytes, x += kTogether) {
    const V row = hn::LoadU(d, reinterpret_cast<const float*>(w));
    HWY_UNROLL(12)
    for (std::size_t c = 0; c < C; ++c) {
      asm("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(sums[c][0].raw) : "v"(row.raw), "m"(x[c]));
    }
  }
  HWY_UNROLL(12)
  for (std::size_t c = 0; c < C; ++c) {
    V sum = hn::Add(sums[c][0], sums[c][1]);
    if constexpr (kTurns == 4) sum = hn::Add(sum, hn::Add(sums[c][2], sums[c][3]));
    hn::StoreU(sum, d, y + c * y_stride);
  }
}

using MultiplyWords = void (*)(const std::byte*, std::size_t, const float*, float*, std::size_t);
inline constexpr MultiplyWords kMultiplyWords[] = {
    multiply_words<1>, multiply_words<2>,  multiply_words<3>,  multiply_words<4>,
    multiply_words<5>, multiply_words<6>,  multiply_words<7>,  multiply_words<8>,
    multiply_words<9>, multiply_words<10>, multiply_words<11>, multiply_words<12>};

void MultiplyLaneWords(const std::byte* w, std::size_t rows, std::size_t words, const float* x,
                       std::size_t columns, float* y, std::size_t y_stride) {
  static_assert(std::size(kMultiplyWords) == kTogether);
  const MultiplyWords multiply = kMultiplyWords[columns - 1];
  std::size_t r = 0;
  for (; r + kLanes <= rows; r += kLanes, w += words * kLanes * sizeof(float)) {
    multiply(w, words, x, y + r, y_stride);
  }
  if (r == rows) return;
  HWY_ALIGN float all_rows[kTogether * kLanes];  // of a group that has fewer
  multiply(w, words, x, all_rows, kLanes);
  for (std::size_t c = 0; c < columns; ++c) {
    std::copy_n(all_rows + c * kLanes, rows - r, y + c * y_stride + r);
  }
}
#else
/// Nothing is multiplied so.
void MultiplyLaneWords(const std::byte*, std::size_t, std::size_t, const float*, std::size_t,
                       float*, std::size_t) {}
#endif

bool MultipliesBF16() {
#if HWY_TARGET == HWY_AVX3_DL
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shunt::cpu::simd {

HWY_EXPORT(PackRows);
HWY_EXPORT(PackColumns);
HWY_EXPORT(MultiplyPacked);
HWY_EXPORT(MultiplyLaneWords);
HWY_EXPORT(MultipliesBF16);

namespace {
std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}
}  // namespace

FloatWord float_word(Level level, DType w) {
  const bool two = w == DType::kBF16 && SHUNT_DISPATCH(level, MultipliesBF16)();
  return two ? FloatWord::kTwoBF16 : FloatWord::kF32;
}

void pack_rows(Level level, DType type, const std::byte* w, std::int64_t w_stride,
               std::int64_t rows, std::int64_t k, std::byte* panel) {
  SHUNT_DISPATCH(level, PackRows)
  (type, w, size(w_stride), size(rows), size(k), reinterpret_cast<float*>(panel),
   float_word(level, type));
}

void pack_columns(Level level, FloatWord word, const float* x, std::int64_t x_stride,
                  std::int64_t count, std::int64_t k, std::byte* to) {
  SHUNT_DISPATCH(level, PackColumns)
  (word, x, size(x_stride), size(count), size(k), reinterpret_cast<float*>(to));
}

void multiply_packed(Level level, FloatWord word, const std::byte* panel, std::int64_t rows,
                     std::int64_t words, const std::byte* x, std::int64_t columns, float* y,
                     std::int64_t y_stride, bool add) {
  SHUNT_DISPATCH(level, MultiplyPacked)
  (word, reinterpret_cast<const float*>(panel), size(rows), size(words),
   reinterpret_cast<const float*>(x), size(columns), y, size(y_stride), add);
}

void multiply_lane_words(Level level, const std::byte* w, std::int64_t rows, std::int64_t words,
                         const std::byte* x, std::int64_t columns, float* y,
                         std::int64_t y_stride) {
  SHUNT_DISPATCH(level, MultiplyLaneWords)
  (w, size(rows), size(words), reinterpret_cast<const float*>(x), size(columns), y, size(y_stride));
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
