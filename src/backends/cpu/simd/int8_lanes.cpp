#include "backends/cpu/simd/int8_lanes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "backends/cpu/simd/int8_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/int8_lanes.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/int8_dispatch.h"
#include "backends/cpu/simd/int8_dot-inl.h"
#include "backends/cpu/simd/int8_panel-inl.h"
#include "backends/cpu/simd/lane_codes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

Int8Need LanesNeed(DType type);
std::size_t MostLaneColumns();
void MultiplyLanes(DType type, const std::byte* w, std::size_t rows, const std::byte* x,
                   std::size_t columns, std::size_t k, float* y, std::size_t y_stride);
void DecodeLanes(DType type, const std::byte* w, std::size_t group_bytes, std::size_t groups,
                 std::size_t k, std::byte* panel);

#if HWY_TARGET == HWY_SCALAR

/// No type has lanes.
Int8Need LanesNeed(DType) {
  return {};
}
std::size_t MostLaneColumns() {
  return 1;
}
void MultiplyLanes(DType, const std::byte*, std::size_t, const std::byte*, std::size_t, std::size_t,
                   float*, std::size_t) {}
void DecodeLanes(DType, const std::byte*, std::size_t, std::size_t, std::size_t, std::byte*) {}

#elif SHUNT_COMPILED_HERE

using namespace lanes;

/// With 16 registers the sums of more columns have no place.
inline constexpr std::size_t kMostColumns = kBytes == 64 ? 8 : 4;

/// Memory is asked for so far ahead: fields of a block of 256 elements are read side by side, which
/// the hardware does not take for reading ahead of.
inline constexpr std::size_t kAhead = 4096;
HWY_INLINE void ask_for(const std::byte* from, std::size_t bytes) {
  HWY_UNROLL(8)
  for (std::size_t i = 0; i < bytes; i += 64) __builtin_prefetch(from + i, 0, 3);
}

/// Of one vector of rows, C columns. Each sum is taken in the order of k.
template <class F, std::size_t C>
HWY_INLINE void multiply_rows(const std::byte* w, std::size_t row, std::size_t k,
                              const std::byte* x, float* y, std::size_t y_stride) {
  const D d;
  constexpr std::size_t kFours = 8 / F::kScales;
  constexpr std::size_t kNumbers = F::kOffset ? F::kScales : F::kMins;
  constexpr std::size_t kScalesAt = 8 * C * 4;
  constexpr std::size_t kSumsAt = kScalesAt + C * 4;
  constexpr std::size_t kRecord = kSumsAt + kNumbers * C * 4;
  V sums[C];
  HWY_UNROLL(8)
  for (std::size_t c = 0; c < C; ++c) sums[c] = hn::Zero(d);
  for (std::size_t first = 0; first < k; first += F::kElements) {
    F f;
    f.blocks = {w + first / F::kElements * (kGroup * F::kBlockBytes), row};
    HWY_ALIGN float scales[F::kElements / 32 * F::kScales][kLanes];
    HWY_ALIGN float mins[F::kElements / 32 * F::kMins + 1][kLanes];
    f.store_scales(scales);
    f.store_mins(mins);
    for (std::size_t b = 0; b < F::kElements / 32; ++b, x += kRecord) {
      constexpr std::size_t kPart = kGroup * F::kBlockBytes / (F::kElements / 32);
      ask_for(f.blocks.at + kAhead + b * kPart, kPart);
      const auto x_number = [&](std::size_t at, std::size_t c) HWY_ATTR {
        return hn::Set(d, reinterpret_cast<const float*>(x + at)[c]);
      };
      HWY_UNROLL(2)
      for (std::size_t s = 0; s < F::kScales; ++s) {
        VI whole[C];
        HWY_UNROLL(8)
        for (std::size_t c = 0; c < C; ++c) {
          whole[c] = hn::Zero(DI());
          if constexpr (F::kOffset && kOffsetInSum) {
            whole[c] = hn::Set(DI(), reinterpret_cast<const std::int32_t*>(x + kSumsAt)[s * C + c]);
          }
        }
        HWY_UNROLL(8)
        for (std::size_t i = 0; i < kFours; ++i) {
          const std::size_t four = s * kFours + i;
          const V8 codes = f.codes(b, four);
          HWY_UNROLL(8)
          for (std::size_t c = 0; c < C; ++c) {
            whole[c] = dot4_of_four<F::kOffset>(whole[c], codes, x + (four * C + c) * 4);
          }
        }
        const V scale = hn::Load(d, scales[b * F::kScales + s]);
        HWY_UNROLL(8)
        for (std::size_t c = 0; c < C; ++c) {
          sums[c] = hn::MulAdd(hn::ConvertTo(d, whole[c]), hn::Mul(scale, x_number(kScalesAt, c)),
                               sums[c]);
        }
      }
      HWY_UNROLL(2)
      for (std::size_t m = 0; m < F::kMins; ++m) {
        const V least = hn::Load(d, mins[b * F::kMins + m]);
        HWY_UNROLL(8)
        for (std::size_t c = 0; c < C; ++c) {
          sums[c] = hn::NegMulAdd(least, x_number(kSumsAt + m * C * 4, c), sums[c]);
        }
      }
    }
  }
  HWY_UNROLL(8)
  for (std::size_t c = 0; c < C; ++c) hn::StoreU(sums[c], d, y + c * y_stride + row);
}

template <class F, std::size_t C>
void multiply_groups(const std::byte* w, std::size_t rows, const std::byte* x, std::size_t k,
                     float* y, std::size_t y_stride) {
  const std::size_t group_bytes = k / F::kElements * (kGroup * F::kBlockBytes);
  const auto multiply = [&](std::size_t r, float* to, std::size_t to_stride) {
    for (std::size_t row = 0; row < kGroup; row += kLanes) {
      multiply_rows<F, C>(w + r / kGroup * group_bytes, row, k, x, to, to_stride);
    }
  };
  std::size_t r = 0;
  for (; r + kGroup <= rows; r += kGroup) multiply(r, y + r, y_stride);
  if (r == rows) return;
  float all_rows[C * kGroup];  // of a group that has fewer
  multiply(r, all_rows, kGroup);
  for (std::size_t c = 0; c < C; ++c) {
    std::copy_n(all_rows + c * kGroup, rows - r, y + c * y_stride + r);
  }
}

using MultiplyGroups = void (*)(const std::byte*, std::size_t, const std::byte*, std::size_t,
                                float*, std::size_t);
using MultiplyByColumns = std::array<MultiplyGroups, kMostColumns>;
template <class F, std::size_t... C>
constexpr MultiplyByColumns by_columns(std::index_sequence<C...>) {
  return {multiply_groups<F, C + 1>...};
}

void MultiplyLanes(DType type, const std::byte* w, std::size_t rows, const std::byte* x,
                   std::size_t columns, std::size_t k, float* y, std::size_t y_stride) {
  static constexpr auto kTable = make_table<MultiplyByColumns>(LaneFormats(), []<class F>() {
    return by_columns<F>(std::make_index_sequence<kMostColumns>());
  });
  kTable[static_cast<std::size_t>(type)][columns - 1](w, rows, x, k, y, y_stride);
}

#ifndef SHUNT_AVX2_VNNI  // code that multiplies nothing is as at AVX2

std::size_t MostLaneColumns() {
  return kMostColumns;
}

template <class F>
void decode_groups(const std::byte* w, std::size_t group_bytes, std::size_t groups, std::size_t k,
                   std::byte* panel) {
  constexpr std::size_t kRecord = panel_block_bytes(F::kScales, F::kMins);
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t row = 0; row < kGroup; row += kLanes) {
      std::byte* block = panel + (g * kGroup + row) * 4;
      for (std::size_t first = 0; first < k; first += F::kElements) {
        const std::size_t place = first / F::kElements * (kGroup * F::kBlockBytes);
        F f;
        f.blocks = {w + g * group_bytes + place, row};
        HWY_ALIGN float scales[F::kElements / 32 * F::kScales][kLanes];
        HWY_ALIGN float mins[F::kElements / 32 * F::kMins + 1][kLanes];
        f.store_scales(scales);
        f.store_mins(mins);
        for (std::size_t b = 0; b < F::kElements / 32; ++b, block += kRecord) {
          const auto put = [&](V v, std::size_t number) HWY_ATTR {
            hn::Store(v, D(), reinterpret_cast<float*>(block + kCodeBytes + number * kFourBytes));
          };
          HWY_UNROLL(8)
          for (std::size_t four = 0; four < 8; ++four) {
            hn::Store(f.codes(b, four), D8(),
                      reinterpret_cast<std::uint8_t*>(block + four * kFourBytes));
          }
          for (std::size_t s = 0; s < F::kScales; ++s) {
            put(hn::Load(D(), scales[b * F::kScales + s]), s);
          }
          for (std::size_t m = 0; m < F::kMins; ++m) {
            put(hn::Load(D(), mins[b * F::kMins + m]), F::kScales + m);
          }
        }
      }
    }
  }
}

/// The parts of a format, without its type.
struct LaneEntry {
  Int8Need need;
  void (*decode)(const std::byte*, std::size_t, std::size_t, std::size_t, std::byte*) = nullptr;
};
inline constexpr auto kLaneTable = make_table<LaneEntry>(LaneFormats(), []<class F>() {
  return LaneEntry{{F::kScales, F::kMins, CodeOrder::kNatural}, decode_groups<F>};
});

void DecodeLanes(DType type, const std::byte* w, std::size_t group_bytes, std::size_t groups,
                 std::size_t k, std::byte* panel) {
  kLaneTable[static_cast<std::size_t>(type)].decode(w, group_bytes, groups, k, panel);
}

Int8Need LanesNeed(DType type) {
  return kLaneTable[static_cast<std::size_t>(type)].need;
}

#endif  // SHUNT_AVX2_VNNI

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && !defined(SHUNT_ONE_TARGET)
namespace shunt::cpu::simd {

HWY_EXPORT(LanesNeed);
HWY_EXPORT(MostLaneColumns);
SHUNT_EXPORT_INT8(MultiplyLanes);
HWY_EXPORT(DecodeLanes);

namespace {
std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}
}  // namespace

Int8Need lanes_need(Level level, DType type) {
  return SHUNT_DISPATCH(level, LanesNeed)(type);
}
bool has_lanes(Level level, DType type) {
  return lanes_need(level, type).scales != 0;
}
std::int64_t most_lane_columns(Level level) {
  return static_cast<std::int64_t>(SHUNT_DISPATCH(level, MostLaneColumns)());
}

void multiply_lanes(Level level, DType type, const std::byte* w, std::int64_t rows,
                    const std::byte* x, std::int64_t columns, std::int64_t k, float* y,
                    std::int64_t y_stride) {
  SHUNT_DISPATCH_INT8(level, MultiplyLanes)
  (type, w, size(rows), x, size(columns), size(k), y, size(y_stride));
}

void decode_lanes(Level level, DType type, const std::byte* w, std::int64_t group_bytes,
                  std::int64_t groups, std::int64_t k, std::byte* panel) {
  SHUNT_DISPATCH(level, DecodeLanes)(type, w, size(group_bytes), size(groups), size(k), panel);
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
