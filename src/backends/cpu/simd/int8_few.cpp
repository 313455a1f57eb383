#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "backends/cpu/simd/int8.h"
#include "backends/cpu/simd/int8_few.h"
#include "backends/cpu/simd/int8_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/int8_few.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/code_formats-inl.h"
#include "backends/cpu/simd/int8_dispatch.h"
#include "backends/cpu/simd/int8_dot-inl.h"
#include "backends/cpu/simd/int8_round-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

void QuantizeFew(const float* x, std::size_t k, Int8Need need, std::byte* to);
void MultiplyFew(DType type, const std::byte* w, std::size_t w_stride, std::size_t rows,
                 const std::byte* x, std::size_t columns, std::size_t k, float* y,
                 std::size_t y_stride);

#if HWY_TARGET == HWY_SCALAR

void QuantizeFew(const float*, std::size_t, Int8Need, std::byte*) {}
void MultiplyFew(DType, const std::byte*, std::size_t, std::size_t, const std::byte*, std::size_t,
                 std::size_t, float*, std::size_t) {}

#elif SHUNT_COMPILED_HERE

using namespace codes;

/// Columns that are taken through a row at once: more have their sums and x in no near place.
constexpr std::size_t kFewAtOnce = 4;
/// Rows that are walked through again for more columns: they stay in the caches.
constexpr std::size_t kRowsAgain = 16;

/// Sums of C columns. Where columns are few, each has two sums that take turns, so that they don't
/// wait for each other. Besides, the amounts that minimums take off.
template <class F, std::size_t C>
struct FewSums {
  using DM = hn::CappedTag<float, F::kMinRuns == 0 ? 1 : F::kMinRuns>;
  static constexpr std::size_t kTurns = C >= 4 ? 1 : 2;
  V v[C][kTurns];
  hn::Vec<DM> mins[C];
  HWY_INLINE FewSums() {}  // the implicit one lacks NEON's target
  HWY_INLINE void swap_turns() {
    HWY_UNROLL(4)
    for (std::size_t c = 0; c < C; ++c) std::swap(v[c][0], v[c][kTurns - 1]);
  }
};

/// Adds a group, whose first element is number `first`. `Turn`: which of two sums is first.
template <std::size_t Turn, class F, std::size_t C>
HWY_INLINE void add_group(FewSums<F, C>& sums, const std::byte* w, const FewColumn& column,
                          const std::byte* x, std::size_t first) {
  const D d;
  constexpr bool kOffset = F::kMinRun == 0;
  constexpr CodeOrder kOrder = F::kOrder;
  constexpr std::size_t kTogether = FewColumn::vectors_of_unit(kOrder);
  const F group(w);
  HWY_UNROLL(16)
  for (std::size_t v = 0; v < F::kVectors; v += kTogether) {
    const std::size_t turn = (Turn + v / kTogether) % FewSums<F, C>::kTurns;
    V8 codes[kTogether];
    for (std::size_t i = 0; i < kTogether; ++i) codes[i] = group.codes(v + i);
    const V scale = group.scale(v);
    const std::byte* unit = x + (first / kBytes + v) / kTogether * column.unit_bytes(kOrder);
    HWY_UNROLL(4)
    for (std::size_t c = 0; c < C; ++c, unit += column.bytes()) {
      VI sum = hn::Zero(DI());
      if constexpr (kOffset && kOffsetInSum) {
        sum = hn::Load(DI(), reinterpret_cast<const std::int32_t*>(unit + column.start_at(kOrder)));
      }
      sum = dot4<kOffset>(sum, codes[0], load(unit));
      if constexpr (kTogether == 2) sum = dot4<kOffset>(sum, codes[1], load(unit + kBytes));
      const V x_scale =
          hn::Load(d, reinterpret_cast<const float*>(unit + column.scales_at(kOrder)));
      V& to = sums.v[c][turn];
      to = hn::MulAdd(hn::ConvertTo(d, sum), hn::Mul(scale, x_scale), to);
    }
  }
  if constexpr (!kOffset) {
    const typename FewSums<F, C>::DM dm;
    const std::byte* x_sums = x + column.sums_at(F::kMinRun) + first / F::kMinRun * sizeof(float);
    alignas(64) float mins[F::kMinRuns];
    group.store_mins(mins);
    for (std::size_t i = 0; i < F::kMinRuns; i += hn::MaxLanes(dm)) {
      const auto least = hn::LoadU(dm, mins + i);
      HWY_UNROLL(4)
      for (std::size_t c = 0; c < C; ++c) {
        const auto* of_column = reinterpret_cast<const float*>(x_sums + c * column.bytes());
        sums.mins[c] = hn::MulAdd(least, hn::LoadU(dm, of_column + i), sums.mins[c]);
      }
    }
  }
}

template <class F, std::size_t C>
HWY_INLINE void multiply_row(const std::byte* w, const std::byte* x, std::size_t k, float* y,
                             std::size_t y_stride) {
  using Sums = FewSums<F, C>;
  const FewColumn column(k, kBytes);
  const typename Sums::DM dm;
  // Some blocks of a group, and zeros behind them. Made first: a call keeps no vector in registers.
  constexpr bool kParts = F::kGroup < FewColumn::kPadding;
  std::byte part[kParts ? F::kGroupBytes : 1];
  const std::size_t rest = kParts ? k % F::kGroup : 0;
  if (rest != 0) {
    std::fill_n(part, sizeof part, std::byte{0});
    std::memcpy(part, w + k / F::kGroup * F::kGroupBytes, F::kGroupBytes * rest / F::kGroup);
  }
  Sums sums;
  HWY_UNROLL(4)
  for (std::size_t c = 0; c < C; ++c) {
    for (V& v : sums.v[c]) v = hn::Zero(D());
    sums.mins[c] = hn::Zero(dm);
  }
  // Each copy of a group's code costs compile time. Long code is generated once, and moves swap the
  // sums. Short code is generated once for each turn, and once for a last group and a part of one.
  constexpr bool kSwaps = Sums::kTurns == 2 && (F::kVectors >= 8 || F::kOneCopy);
  static_assert(!kSwaps || F::kVectors / FewColumn::vectors_of_unit(F::kOrder) % 2 == 0);
  // Counted in elements where a part may follow, else in groups: the code that GCC 12 makes of
  // either differs by up to a tenth.
  constexpr std::size_t kStep = kParts ? F::kGroup : 1;
  std::size_t at = 0;
  const auto add = [&](auto turn) HWY_ATTR {
    add_group<turn>(sums, kParts ? w : w + at * F::kGroupBytes, column, x,
                    at * (F::kGroup / kStep));
    if (kParts) w += F::kGroupBytes;
    at += kStep;
  };
  std::size_t end = (k - rest) / (F::kGroup / kStep);
  if constexpr (Sums::kTurns == 2 && !kSwaps) {
    while (at + kStep < end) {  // NOLINT(bugprone-infinite-loop): add() raises `at`
      add(std::integral_constant<std::size_t, 0>());
      add(std::integral_constant<std::size_t, 1>());
    }
  }
  for (;; end += kStep) {
    while (at < end) {  // NOLINT(bugprone-infinite-loop): add() raises `at`
      add(std::integral_constant<std::size_t, 0>());
      if constexpr (kSwaps) sums.swap_turns();
    }
    if (!kParts || at >= k) break;
    if (kSwaps && at / kStep % 2 != 0) sums.swap_turns();  // a part starts with the first
    w = part;
  }
  HWY_UNROLL(4)
  for (std::size_t c = 0; c < C; ++c) {
    V all_lanes = sums.v[c][0];
    if constexpr (Sums::kTurns == 2) all_lanes = hn::Add(all_lanes, sums.v[c][1]);
    float sum = hn::GetLane(hn::SumOfLanes(D(), all_lanes)) * F::kUnit;
    if constexpr (F::kMinRun != 0) sum -= hn::GetLane(hn::SumOfLanes(dm, sums.mins[c]));
    y[c * y_stride] = sum;
  }
}

/// One row after the other, in the order of memory: the hardware reads ahead only then, and is
/// slowed down by being asked for lines.
template <class F, std::size_t C>
void multiply_rows(const std::byte* w, std::size_t w_stride, std::size_t rows, const std::byte* x,
                   std::size_t k, float* y, std::size_t y_stride) {
  for (std::size_t r = 0; r < rows; ++r) {
    multiply_row<F, C>(w + r * w_stride, x, k, y + r, y_stride);
  }
}

using MultiplyRows = void (*)(const std::byte*, std::size_t, std::size_t, const std::byte*,
                              std::size_t, float*, std::size_t);
/// By number of columns, less one.
struct ByColumns {
  MultiplyRows multiply[kFewAtOnce];
};
template <class F>
constexpr ByColumns by_columns() {
  return {{multiply_rows<F, 1>, multiply_rows<F, 2>, multiply_rows<F, 3>, multiply_rows<F, 4>}};
}

void MultiplyFew(DType type, const std::byte* w, std::size_t w_stride, std::size_t rows,
                 const std::byte* x, std::size_t columns, std::size_t k, float* y,
                 std::size_t y_stride) {
  static constexpr auto kTable =
      make_table<ByColumns>(CodeFormats(), []<class F>() { return by_columns<F>(); });
  const ByColumns& by = kTable[static_cast<std::size_t>(type)];
  const std::size_t bytes = FewColumn(k, kBytes).bytes();
  const std::size_t parts = (columns + kFewAtOnce - 1) / kFewAtOnce;
  const std::size_t step = parts == 1 ? rows : kRowsAgain;
  for (std::size_t r = 0; r < rows; r += step) {
    // Parts of about the same number of columns.
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t c = columns * part / parts;
      const std::size_t here = columns * (part + 1) / parts - c;
      by.multiply[here - 1](w + r * w_stride, w_stride, std::min(step, rows - r), x + c * bytes, k,
                            y + c * y_stride + r, y_stride);
    }
  }
}

#ifndef SHUNT_AVX2_VNNI  // code that multiplies nothing is as at AVX2

/// The units of a column whose blocks are `bytes` (in the natural order) and `scales`.
template <CodeOrder Order>
HWY_INLINE void place_units(const FewColumn& column, const std::int8_t* bytes, const float* scales,
                            std::size_t first, std::byte* to) {
  constexpr std::size_t kTogether = FewColumn::vectors_of_unit(Order);
  for (std::size_t v = 0; v < FewColumn::kPadding / kBytes; v += kTogether) {
    std::byte* unit = to + (first / kBytes + v) / kTogether * column.unit_bytes(Order);
    VI sums = hn::Zero(DI());
    for (std::size_t i = 0; i < kTogether; ++i) {
      HWY_ALIGN std::int8_t vector[kBytes];
      for (std::size_t piece = 0; piece < kBytes / 16; ++piece) {
        const std::size_t from = sixteen_at(Order, (v + i) * (kBytes / 16) + piece);
        std::memcpy(vector + 16 * piece, bytes + 16 * from, 16);
      }
      const V8 x = load(reinterpret_cast<const std::byte*>(vector));
      hn::Store(x, D8(), reinterpret_cast<std::uint8_t*>(unit + i * kBytes));
      sums = dot4<false>(sums, all(128), x);
    }
    hn::Store(spread<Order, 32>(scales, v), D(),
              reinterpret_cast<float*>(unit + column.scales_at(Order)));
    hn::Store(hn::Neg(sums), DI(), reinterpret_cast<std::int32_t*>(unit + column.start_at(Order)));
  }
}

HWY_INLINE float sum_of(const std::int8_t* bytes, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += bytes[i];
  return static_cast<float>(sum);
}

void QuantizeFew(const float* x, std::size_t k, Int8Need need, std::byte* to) {
  constexpr std::size_t kPadding = FewColumn::kPadding;
  const FewColumn column(k, kBytes);
  auto* sums32 = reinterpret_cast<float*>(to + column.sums_at(32));
  auto* sums16 = reinterpret_cast<float*>(to + column.sums_at(16));
  HWY_ALIGN std::int8_t bytes[kPadding];
  HWY_ALIGN float scales[kPadding / 32];
  for (std::size_t first = 0; first < k; first += kPadding) {
    for (std::size_t b = 0; b < kPadding / 32; ++b) {
      Rounded block{};
      if (first + b * 32 < k) block = round_block(x + first + b * 32);
      std::memcpy(bytes + 32 * b, block.bytes, 32);
      scales[b] = block.scale;
      if (need.mins == 0) continue;
      const std::size_t number = first / 32 + b;
      sums16[2 * number] = block.scale * sum_of(block.bytes, 16);
      sums16[2 * number + 1] = block.scale * sum_of(block.bytes + 16, 16);
      sums32[number] = block.scale * sum_of(block.bytes, 32);
    }
    switch (need.order) {
      case CodeOrder::kNatural:
        place_units<CodeOrder::kNatural>(column, bytes, scales, first, to);
        break;
      case CodeOrder::kHalves:
        place_units<CodeOrder::kHalves>(column, bytes, scales, first, to);
        break;
      case CodeOrder::kPairs:
        place_units<CodeOrder::kPairs>(column, bytes, scales, first, to);
        break;
      case CodeOrder::kQuarters:
        place_units<CodeOrder::kQuarters>(column, bytes, scales, first, to);
        break;
    }
  }
}

#endif  // SHUNT_AVX2_VNNI

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && !defined(SHUNT_ONE_TARGET)
namespace shunt::cpu::simd {

namespace {
std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}
}  // namespace

HWY_EXPORT(QuantizeFew);
SHUNT_EXPORT_INT8(MultiplyFew);

std::int64_t few_bytes(std::int64_t k) {
  return static_cast<std::int64_t>(FewColumn(size(k), 1).bytes());
}

void quantize_few(Level level, const float* x, std::int64_t k, Int8Need need, std::byte* to) {
  SHUNT_DISPATCH(level, QuantizeFew)(x, size(k), need, to);
}

void multiply_few(Level level, DType type, const std::byte* w, std::int64_t w_stride,
                  std::int64_t rows, const std::byte* x, std::int64_t columns, std::int64_t k,
                  float* y, std::int64_t y_stride) {
  SHUNT_DISPATCH_INT8(level, MultiplyFew)
  (type, w, size(w_stride), size(rows), x, size(columns), size(k), y, size(y_stride));
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
