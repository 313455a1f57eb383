#include "backends/cpu/simd/float_lanes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "backends/cpu/interleaved.h"
#include "backends/cpu/simd/int8_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/float_lanes.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/dispatch.h"
#include "backends/cpu/simd/formats-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

bool HasFloatLanes(DType) {
  return false;
}
void MultiplyFloatLanes(DType, const std::byte*, std::size_t, const float*, std::size_t,
                        std::size_t, std::size_t, float*, std::size_t) {}
void PackLanes(DType, const std::byte*, std::size_t, std::size_t, std::size_t, bool, std::byte*) {}

#else

inline constexpr std::size_t kGroup = kGroupRows;
/// With 16 registers the sums of more columns have no place.
inline constexpr std::size_t kMostColumns = kLanes == 16 ? 8 : 4;

// ---- formats: some elements of k at a time, of the rows of a vector

struct LanesF32 {
  static constexpr std::size_t kElements = 1;
  static constexpr std::size_t kBytes = kGroup * 4;
  V v;
  HWY_INLINE LanesF32() {}  // the implicit one lacks NEON's target
  HWY_INLINE void load(const std::byte* at, std::size_t row) {
    v = hn::LoadU(D(), reinterpret_cast<const float*>(at) + row);
  }
  HWY_INLINE V value(std::size_t) const { return v; }
};

struct LanesF16 {
  static constexpr std::size_t kElements = 1;
  static constexpr std::size_t kBytes = kGroup * 2;
  V v;
  HWY_INLINE LanesF16() {}
  HWY_INLINE void load(const std::byte* at, std::size_t row) {
    const hn::Rebind<std::uint16_t, D> d16;
    v = f16_to_f32(D(), hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(at) + row));
  }
  HWY_INLINE V value(std::size_t) const { return v; }
};

struct LanesBF16 {
  static constexpr std::size_t kElements = 2;
  static constexpr std::size_t kBytes = kGroup * 4;
  using D32 = hn::RebindToUnsigned<D>;
  hn::Vec<D32> words;
  HWY_INLINE LanesBF16() {}
  HWY_INLINE void load(const std::byte* at, std::size_t row) {
    words = hn::LoadU(D32(), reinterpret_cast<const std::uint32_t*>(at) + row);
  }
  HWY_INLINE V value(std::size_t i) const {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    i = 1 - i;
#endif
    if (i == 0) return hn::BitCast(D(), hn::ShiftLeft<16>(words));
    return hn::BitCast(D(), hn::And(words, hn::Set(D32(), 0xffff0000U)));
  }
};

/// Calls f.operator()<Format>().
template <class F>
HWY_INLINE void with_format(DType type, const F& f) {
  if (type == DType::kF32) return f.template operator()<LanesF32>();
  if (type == DType::kF16) return f.template operator()<LanesF16>();
  f.template operator()<LanesBF16>();
}

bool HasFloatLanes(DType type) {
  return is_float_weight(type);
}

// ---- few columns

/// Elements of k that are walked through at once: where columns are few, each has its own sums, so
/// that they don't wait for each other.
inline constexpr std::size_t kStep = 4;
constexpr std::size_t turns(std::size_t columns) {
  return columns <= 2 ? 4 : columns <= 4 ? 2 : 1;
}
/// Memory is prefetched this number of bytes ahead.
inline constexpr std::size_t kAhead = 4096;

template <class F, std::size_t C>
HWY_INLINE void multiply_rows(const std::byte* w, std::size_t row, std::size_t k, const float* x,
                              std::size_t x_stride, float* y, std::size_t y_stride) {
  const D d;
  constexpr std::size_t kTurns = turns(C);
  V sums[C][kTurns];
  HWY_UNROLL(8)
  for (std::size_t c = 0; c < C; ++c) {
    for (std::size_t t = 0; t < kTurns; ++t) sums[c][t] = hn::Zero(d);
  }
  const auto add = [&](std::size_t at, std::size_t turn) HWY_ATTR {
    F f;
    f.load(w + at / F::kElements * F::kBytes, row);
    HWY_UNROLL(2)
    for (std::size_t e = 0; e < F::kElements; ++e) {
      const V value = f.value(e);
      HWY_UNROLL(8)
      for (std::size_t c = 0; c < C; ++c) {
        V& sum = sums[c][(turn + e) % kTurns];
        sum = hn::MulAdd(value, hn::Set(d, x[c * x_stride + at + e]), sum);
      }
    }
  };
  std::size_t at = 0;
  for (; at + kStep <= k; at += kStep) {
    HWY_UNROLL(4)
    for (std::size_t i = 0; i < kStep / F::kElements * F::kBytes; i += 64) {
      __builtin_prefetch(w + at / F::kElements * F::kBytes + kAhead + i, 0, 3);
    }
    HWY_UNROLL(4)
    for (std::size_t i = 0; i < kStep; i += F::kElements) add(at + i, i);
  }
  for (; at < k; at += F::kElements) add(at, 0);
  HWY_UNROLL(8)
  for (std::size_t c = 0; c < C; ++c) {
    V sum = sums[c][0];
    if constexpr (kTurns >= 2) sum = hn::Add(sum, sums[c][1]);
    if constexpr (kTurns == 4) sum = hn::Add(sum, hn::Add(sums[c][2], sums[c][3]));
    hn::StoreU(sum, d, y + c * y_stride + row);
  }
}

template <class F, std::size_t C>
void multiply_group(const std::byte* w, std::size_t k, const float* x, std::size_t x_stride,
                    float* y, std::size_t y_stride) {
  for (std::size_t row = 0; row < kGroup; row += kLanes) {
    multiply_rows<F, C>(w, row, k, x, x_stride, y, y_stride);
  }
}

using MultiplyGroup = void (*)(const std::byte*, std::size_t, const float*, std::size_t, float*,
                               std::size_t);
template <class F, std::size_t... C>
constexpr std::array<MultiplyGroup, kMostColumns> by_columns(std::index_sequence<C...>) {
  return {multiply_group<F, C + 1>...};
}

void MultiplyFloatLanes(DType type, const std::byte* w, std::size_t rows, const float* x,
                        std::size_t x_stride, std::size_t columns, std::size_t k, float* y,
                        std::size_t y_stride) {
  const std::size_t parts = (columns + kMostColumns - 1) / kMostColumns;
  with_format(type, [&]<class F>() {
    static constexpr auto kMultiply = by_columns<F>(std::make_index_sequence<kMostColumns>());
    for (std::size_t r = 0; r < rows; r += kGroup, w += k / F::kElements * F::kBytes) {
      for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t c = columns * part / parts;
        const std::size_t here = columns * (part + 1) / parts - c;
        float* to = y + c * y_stride + r;
        if (r + kGroup <= rows) {
          kMultiply[here - 1](w, k, x + c * x_stride, x_stride, to, y_stride);
          continue;
        }
        float all_rows[kMostColumns * kGroup];  // of a group that has fewer
        kMultiply[here - 1](w, k, x + c * x_stride, x_stride, all_rows, kGroup);
        for (std::size_t i = 0; i < here; ++i) {
          std::copy_n(all_rows + i * kGroup, rows - r, to + i * y_stride);
        }
      }
    }
  });
}

// ---- panels

/// `two`: words of two elements of BF16 stay as they are.
void PackLanes(DType type, const std::byte* w, std::size_t group_bytes, std::size_t groups,
               std::size_t k, bool two, std::byte* panel) {
  for (std::size_t g = 0; g < groups; ++g, w += group_bytes) {
    auto* to = reinterpret_cast<float*>(panel) + g * kGroup;
    const auto pack = [&]<class F>() HWY_ATTR {
      for (std::size_t row = 0; row < kGroup; row += kLanes) {
        for (std::size_t at = 0; at < k; at += F::kElements) {
          F f;
          f.load(w + at / F::kElements * F::kBytes, row);
          for (std::size_t e = 0; e < F::kElements; ++e) {
            hn::StoreU(f.value(e), D(), to + (at + e) * kFloatRows + row);
          }
        }
      }
    };
    if (two) {
      const std::size_t words = k / 2;
      for (std::size_t word = 0; word < words; ++word) {
        std::copy_n(w + word * (kGroup * 4), kGroup * 4,
                    reinterpret_cast<std::byte*>(to + word * kFloatRows));
      }
    } else {
      with_format(type, pack);
    }
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shunt::cpu::simd {

HWY_EXPORT(HasFloatLanes);
HWY_EXPORT(MultiplyFloatLanes);
HWY_EXPORT(PackLanes);

namespace {
std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}
}  // namespace

bool has_float_lanes(Level level, DType type) {
  return SHUNT_DISPATCH(level, HasFloatLanes)(type);
}

void multiply_float_lanes(Level level, DType type, const std::byte* w, std::int64_t rows,
                          const float* x, std::int64_t x_stride, std::int64_t columns,
                          std::int64_t k, float* y, std::int64_t y_stride) {
  SHUNT_DISPATCH(level, MultiplyFloatLanes)
  (type, w, size(rows), x, size(x_stride), size(columns), size(k), y, size(y_stride));
}

void pack_lanes(Level level, DType type, const std::byte* w, std::int64_t group_bytes,
                std::int64_t groups, std::int64_t k, std::byte* panel) {
  const bool two = float_word(level, type) == FloatWord::kTwoBF16;
  SHUNT_DISPATCH(level, PackLanes)
  (type, w, size(group_bytes), size(groups), size(k), two, panel);
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
