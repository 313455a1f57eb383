#include <algorithm>
#include <array>

#include "backends/cpu/simd/int8_few.h"
#include "backends/cpu/simd/int8.h"
#include "backends/cpu/simd/int8_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/int8_few.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/int8_dot-inl.h"
#include "backends/cpu/simd/int8_round-inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

void QuantizeFew(const float*, std::size_t, std::byte*) {}
void MultiplyFew(DType, const std::byte*, std::size_t, std::size_t, const std::byte*, std::size_t,
                 std::size_t, float*, std::size_t) {}

#else

using namespace codes;

/// Scales of the runs that part p of chunk j of a group has, each in the lanes of its elements.
template <std::size_t Run>
HWY_INLINE V spread_scales(const float* scales, std::size_t j, std::size_t p) {
  const D d;
  const std::size_t first = (j * kChunk + p * kBytes) / Run;
  if constexpr (kBytes <= Run) {
    return hn::Set(d, scales[first]);
  } else if constexpr (kBytes == 2 * Run) {
    return hn::ConcatUpperLower(d, hn::Set(d, scales[first + 1]), hn::Set(d, scales[first]));
  } else {
    static_assert(kBytes == 4 * Run);
    HWY_ALIGN constexpr std::int32_t kLane[16] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
    return hn::TableLookupLanes(hn::LoadDup128(d, scales + first),
                                hn::SetTableIndices(d, kLane));
  }
}

/// Sums of C columns: by column two that take turns, so that they don't wait for each other, and
/// what minimums take off.
template <class F, std::size_t C>
struct FewSums {
  V v[C][2];
  float mins[C] = {};
};

/// So many bytes ahead memory is asked for.
constexpr std::size_t kAhead = 1024;

/// `Turn`: which of the two sums is first.
template <std::size_t Turn, class F, std::size_t C>
HWY_INLINE void add_group(FewSums<F, C>& sums, const std::byte* w, const FewColumn& column,
                          const std::byte* x, std::size_t x_stride, std::size_t first_chunk) {
  const F group(w);
  const D d;
  constexpr bool kOffset = F::kMinRun == 0;
  HWY_UNROLL(4)
  for (std::size_t j = 0; j < F::kGroup / kChunk; ++j) {
    HWY_UNROLL(4)
    for (std::size_t p = 0; p < kParts; ++p) {
      const V8 codes = group.codes(j, p);
      const V scale = spread_scales<F::kRun>(group.scales, j, p);
      HWY_UNROLL(4)
      for (std::size_t c = 0; c < C; ++c) {
        const std::byte* chunk =
            x + c * x_stride + (first_chunk + j) * FewColumn::kChunkBytes + p * kBytes;
        VI start = hn::Zero(DI());
        if constexpr (kOffset && kOffsetInSum) {
          start = hn::Load(DI(), reinterpret_cast<const std::int32_t*>(chunk + FewColumn::kStartAt));
        }
        const VI sum = dot4<kOffset>(start, codes, load(chunk));
        const V x_scale = hn::Load(d, reinterpret_cast<const float*>(chunk + FewColumn::kScalesAt));
        V& to = sums.v[c][(Turn + j * kParts + p) % 2];
        to = hn::MulAdd(hn::ConvertTo(d, sum), hn::Mul(scale, x_scale), to);
      }
    }
  }
  if constexpr (!kOffset) {
    const std::size_t first = first_chunk * kChunk / F::kMinRun;
    for (std::size_t c = 0; c < C; ++c) {
      const auto* x_sums =
          reinterpret_cast<const float*>(x + c * x_stride + column.sums_at(F::kMinRun)) + first;
      const hn::CappedTag<float, F::kMinRuns> dm;
      auto total = hn::Zero(dm);
      for (std::size_t i = 0; i < F::kMinRuns; i += hn::MaxLanes(dm)) {
        total = hn::MulAdd(hn::LoadU(dm, group.mins + i), hn::LoadU(dm, x_sums + i), total);
      }
      sums.mins[c] += hn::GetLane(hn::SumOfLanes(dm, total));
    }
  }
}

template <class F, std::size_t C>
void multiply_rows(const std::byte* w, std::size_t w_stride, std::size_t rows, const std::byte* x,
                   std::size_t k, float* y, std::size_t y_stride) {
  const FewColumn column(k);
  const std::size_t groups = k / F::kGroup;
  for (std::size_t r = 0; r < rows; ++r) {
    FewSums<F, C> sums;
    for (auto& v : sums.v) v[0] = v[1] = hn::Zero(D());
    const std::byte* row = w + r * w_stride;
    const auto add = [&]<std::size_t Turn>(std::size_t g) {
      hwy::Prefetch(row + g * F::kGroupBytes + kAhead);
      add_group<Turn>(sums, row + g * F::kGroupBytes, column, x, column.bytes(),
                      g * (F::kGroup / kChunk));
    };
    std::size_t g = 0;
    for (; g + 2 <= groups; g += 2) {
      add.template operator()<0>(g);
      add.template operator()<1>(g + 1);
    }
    if (g < groups) add.template operator()<0>(g);
    if constexpr (F::kGroup == kChunk) {
      if (k % kChunk != 0) {  // one block more, and one of zeros
        std::byte copy[F::kGroupBytes] = {};
        std::memcpy(copy, row + groups * F::kGroupBytes, F::kGroupBytes / 2);
        add_group<1>(sums, copy, column, x, column.bytes(), groups);
      }
    }
    for (std::size_t c = 0; c < C; ++c) {
      y[c * y_stride + r] =
          hn::GetLane(hn::SumOfLanes(D(), hn::Add(sums.v[c][0], sums.v[c][1]))) - sums.mins[c];
    }
  }
}

using MultiplyRows = void (*)(const std::byte*, std::size_t, std::size_t, const std::byte*,
                              std::size_t, float*, std::size_t);
struct ByColumns {
  MultiplyRows multiply[4];
};
template <class F>
constexpr ByColumns by_columns() {
  return {{multiply_rows<F, 1>, multiply_rows<F, 2>, multiply_rows<F, 3>, multiply_rows<F, 4>}};
}

void MultiplyFew(DType type, const std::byte* w, std::size_t w_stride, std::size_t rows,
                 const std::byte* x, std::size_t columns, std::size_t k, float* y,
                 std::size_t y_stride) {
  static constexpr auto kTable = make_code_table<ByColumns>(
      []<class F>() { return by_columns<F>(); });
  kTable[static_cast<std::size_t>(type)].multiply[columns - 1](w, w_stride, rows, x, k, y,
                                                               y_stride);
}

void QuantizeFew(const float* x, std::size_t k, std::byte* to) {
  const FewColumn column(k);
  auto* sums32 = reinterpret_cast<float*>(to + column.sums_at(32));
  auto* sums16 = reinterpret_cast<float*>(to + column.sums_at(16));
  for (std::size_t b = 0; b < column.chunks * 2; ++b) {
    Rounded block{};
    if (b * 32 < k) block = round_block(x + b * 32);
    std::byte* chunk = to + b / 2 * FewColumn::kChunkBytes + b % 2 * 32;
    std::memcpy(chunk, block.bytes, 32);
    auto* scales = reinterpret_cast<float*>(chunk + FewColumn::kScalesAt);
    auto* start = reinterpret_cast<std::int32_t*>(chunk + FewColumn::kStartAt);
    for (int i = 0; i < 8; ++i) {
      scales[i] = block.scale;
      start[i] = -128 * sum_of(block.bytes + 4 * i, 4);
    }
    sums16[2 * b] = block.scale * static_cast<float>(sum_of(block.bytes, 16));
    sums16[2 * b + 1] = block.scale * static_cast<float>(sum_of(block.bytes + 16, 16));
    sums32[b] = block.scale * static_cast<float>(sum_of(block.bytes, 32));
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shunt::cpu::simd {

namespace {
std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}
}  // namespace

HWY_EXPORT(QuantizeFew);
HWY_EXPORT(MultiplyFew);

std::int64_t few_bytes(std::int64_t k) {
  return static_cast<std::int64_t>(FewColumn(size(k)).bytes());
}

void quantize_few(const float* x, std::int64_t k, std::byte* to) {
  HWY_DYNAMIC_DISPATCH(QuantizeFew)(x, size(k), to);
}

void multiply_few(DType type, const std::byte* w, std::int64_t w_stride, std::int64_t rows,
                  const std::byte* x, std::int64_t columns, std::int64_t k, float* y,
                  std::int64_t y_stride) {
  HWY_DYNAMIC_DISPATCH(MultiplyFew)
  (type, w, size(w_stride), size(rows), x, size(columns), size(k), y, size(y_stride));
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
