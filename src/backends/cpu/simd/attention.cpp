#include "backends/cpu/simd/attention.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/attention.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/attention-inl.h"
#include "backends/cpu/simd/dispatch.h"
#include "backends/cpu/simd/formats-inl.h"
#include "backends/cpu/simd/transpose-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

/// Vectors of keys, or of values, in a tile. The registers hold kTileRows times this number of
/// sums, this number of vectors, and one vector of a row of q. AVX-512 and NEON have 32 registers,
/// the others 16.
inline constexpr int kWide = HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON ? 4 : 2;
/// Keys whose elements of one d are adjacent.
inline constexpr std::size_t kPanel = kWide * kLanes;
inline constexpr std::size_t kKeys = static_cast<std::size_t>(kKeyBlock);
static_assert(kKeys % kPanel == 0 && kKeyGroup % kLanes == 0 && kWeightSums % kLanes == 0);

constexpr std::size_t whole_groups(std::size_t n) {
  constexpr auto kGroup = static_cast<std::size_t>(kKeyGroup);
  return (n + kGroup - 1) / kGroup * kGroup;
}

/// The first n elements of a plain type at `from`, fewer than a vector has, and zeros.
template <class Format>
HWY_INLINE V first_elements(const std::byte* from, std::size_t n) {
  constexpr std::size_t kElement = Format::kBytes / kBlock;
  HWY_ALIGN std::byte copy[kLanes * kElement] = {};
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kElement == sizeof(std::uint16_t)) {
    const hn::Rebind<std::uint16_t, D> d;
    const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
    hn::Store(hn::MaskedLoad(hn::FirstN(d, n), d, bits), d, reinterpret_cast<std::uint16_t*>(copy));
    return Format::load(copy).vector(0);
  } else {
    return hn::MaskedLoad(hn::FirstN(D(), n), D(), reinterpret_cast<const float*>(from));
  }
#else
  std::memcpy(copy, from, n * kElement);
  return Format::load(copy).vector(0);
#endif
}

/// Elements of a row of n from i on, as a vector; those past its end, which only a plain type has,
/// are 0.
template <class Format>
HWY_INLINE V row_vector(const std::byte* row, std::size_t i, std::size_t n) {
  if constexpr (Format::kPlain) {
    if (i >= n) return hn::Zero(D());
    const std::byte* from = row + i * (Format::kBytes / kBlock);
    return n - i < kLanes ? first_elements<Format>(from, n - i) : Format::load(from).vector(0);
  } else {
    return Format::load(row + i / kBlock * Format::kBytes).vector(i % kBlock / kLanes);
  }
}

/// Rows are read a tile of kLanes keys and elements at a time, which is turned in registers.
template <class Format>
void pack_rows(const std::byte* from, std::size_t stride, std::size_t first, std::size_t count,
               std::size_t d, float* keys) {
  const std::size_t all = whole_groups(d);
  for (std::size_t n = 0; n < count; n += kLanes) {
    const std::byte* rows[kLanes];
    // The last key is read in place of missing keys. They are never used.
    for (std::size_t l = 0; l < kLanes; ++l) rows[l] = from + std::min(n + l, count - 1) * stride;
    const std::size_t key = first + n;
    float* to = keys + key / kPanel * kPanel * all + key % kPanel;
    const auto turn = [&](std::size_t i, std::size_t end) HWY_ATTR {
      V tile[kLanes];
      HWY_UNROLL(16)
      for (std::size_t l = 0; l < kLanes; ++l) tile[l] = row_vector<Format>(rows[l], i, end);
      transpose(tile);
      HWY_UNROLL(16)
      for (std::size_t l = 0; l < kLanes; ++l) hn::StoreU(tile[l], D(), to + (i + l) * kPanel);
    };
    std::size_t i = 0;
    for (; i + kLanes <= d; i += kLanes) turn(i, i + kLanes);
    for (; i < all; i += kLanes) turn(i, d);
  }
}

/// Rows of whole blocks, or of a plain type.
template <class Format>
void unpack_rows(const std::byte* from, std::size_t stride, std::size_t count, std::size_t dv,
                 float* to, std::size_t to_stride) {
  constexpr auto kGroup = static_cast<std::size_t>(kKeyGroup);
  constexpr std::size_t kStep = Format::kPlain ? kGroup : kBlock;
  constexpr std::size_t kBytes = Format::kBytes / (kBlock / kStep);
  for (std::size_t n = 0; n < count; ++n, from += stride, to += to_stride) {
    std::size_t i = 0;
    for (; i + kStep <= dv; i += kStep) {
      const auto block = Format::load(from + i / kStep * kBytes);
      HWY_UNROLL(8)
      for (std::size_t j = 0; j < kStep / kLanes; ++j) {
        hn::StoreU(block.vector(j), D(), to + i + j * kLanes);
      }
    }
    for (; i < whole_groups(dv); i += kLanes) {
      hn::StoreU(row_vector<Format>(from, i, dv), D(), to + i);
    }
  }
}

void PackF32(const std::byte* from, std::size_t stride, std::size_t first, std::size_t count,
             std::size_t d, float* keys) {
  pack_rows<F32>(from, stride, first, count, d, keys);
}
void UnpackF32(const std::byte* from, std::size_t stride, std::size_t count, std::size_t dv,
               float* to, std::size_t to_stride) {
  unpack_rows<F32>(from, stride, count, dv, to, to_stride);
}
void PackF16(const std::byte* from, std::size_t stride, std::size_t first, std::size_t count,
             std::size_t d, float* keys) {
  pack_rows<F16>(from, stride, first, count, d, keys);
}
void UnpackF16(const std::byte* from, std::size_t stride, std::size_t count, std::size_t dv,
               float* to, std::size_t to_stride) {
  unpack_rows<F16>(from, stride, count, dv, to, to_stride);
}
void PackBF16(const std::byte* from, std::size_t stride, std::size_t first, std::size_t count,
              std::size_t d, float* keys) {
  pack_rows<BF16>(from, stride, first, count, d, keys);
}
void UnpackBF16(const std::byte* from, std::size_t stride, std::size_t count, std::size_t dv,
                float* to, std::size_t to_stride) {
  unpack_rows<BF16>(from, stride, count, dv, to, to_stride);
}
void PackQ8(const std::byte* from, std::size_t stride, std::size_t first, std::size_t count,
            std::size_t d, float* keys) {
  pack_rows<Q8_0>(from, stride, first, count, d, keys);
}
void UnpackQ8(const std::byte* from, std::size_t stride, std::size_t count, std::size_t dv,
              float* to, std::size_t to_stride) {
  unpack_rows<Q8_0>(from, stride, count, dv, to, to_stride);
}
void PackQ4(const std::byte* from, std::size_t stride, std::size_t first, std::size_t count,
            std::size_t d, float* keys) {
  pack_rows<Q4_0>(from, stride, first, count, d, keys);
}
void UnpackQ4(const std::byte* from, std::size_t stride, std::size_t count, std::size_t dv,
              float* to, std::size_t to_stride) {
  unpack_rows<Q4_0>(from, stride, count, dv, to, to_stride);
}
struct ProductF32 {
  static constexpr std::size_t kElements = 1;
  static HWY_INLINE V add(V sum, V factor, V vector) { return hn::MulAdd(factor, vector, sum); }
  static HWY_INLINE void round(float*) {}
};

namespace f32 {
using Product = ProductF32;
#include "backends/cpu/simd/attention_tiles-inl.h"
}  // namespace f32

/// Keys and values as rows of F16. For a few queries this takes less time than packing them. Each
/// sum is made in the order of f32::Packed, so that results are equal.
struct RowsOfF16 {
  template <int R>
  static HWY_INLINE void score(const KeyBlock& block, const QueryRows& rows, std::size_t seen,
                               float* scores) {
    for (std::size_t key = 0; key < seen; key += kLanes)
      score_keys<R>(block, rows, key, std::min(kLanes, seen - key), scores + key);
  }

  template <int R, int N>
  static HWY_NOINLINE void add_values(const KeyBlock& block, std::size_t i, std::size_t seen,
                                      const float* weights, const float* factors, float* values,
                                      std::size_t stride) {
    constexpr std::size_t kStep = 4;  // keys
    V sums[R][N];
    f32::load_scaled(sums, factors, values, stride);
    const std::byte* row = block.value_rows + i * kElement;
    for (std::size_t j = 0; j < seen; ++j, row += block.value_row_stride) {
      if (i == 0 && j % kStep == 0) ask_for(block.values_ahead, j / kStep, kKeys / kStep);
      V v[N];
      HWY_UNROLL(4)
      for (std::size_t n = 0; n < N; ++n) v[n] = F16::load(row).vector(n);
      HWY_UNROLL(8)
      for (std::size_t r = 0; r < R; ++r) {
        const V weight = hn::Set(D(), weights[r * kKeys + j]);
        HWY_UNROLL(4)
        for (std::size_t n = 0; n < N; ++n) sums[r][n] = hn::MulAdd(weight, v[n], sums[r][n]);
      }
    }
    f32::store_sums(sums, values, stride);
  }

 private:
  /// Asks for piece `i` of `pieces` of some rows. Asking for all at once would take longer.
  static HWY_INLINE void ask_for(const RowsAhead& ahead, std::size_t i, std::size_t pieces) {
    const auto rows = static_cast<std::size_t>(ahead.rows);
    for (std::size_t row = rows * i / pieces; row < rows * (i + 1) / pieces; ++row) {
      const std::byte* from = ahead.first + static_cast<std::int64_t>(row) * ahead.stride;
      for (std::int64_t at = 0; at < ahead.bytes; at += 64) __builtin_prefetch(from + at);
    }
  }

  static constexpr std::size_t kElement = sizeof(std::uint16_t);

  /// The scores of a vector of keys, which are turned in registers.
  template <int R>
  static HWY_NOINLINE void score_keys(const KeyBlock& block, const QueryRows& rows,
                                      std::size_t first, std::size_t count, float* scores) {
    const std::byte* keys[kLanes];
    // The last key is read in place of missing keys. They are never used.
    for (std::size_t l = 0; l < kLanes; ++l) {
      keys[l] = block.key_rows +
                static_cast<std::int64_t>(first + std::min(l, count - 1)) * block.key_row_stride;
    }
    V sums[R];
    HWY_UNROLL(8)
    for (V& sum : sums) sum = hn::Zero(D());
    const std::size_t tiles = static_cast<std::size_t>(block.d) / kLanes;
    for (std::size_t t = 0; t < tiles; ++t) {
      const std::size_t i = t * kLanes;
      ask_for(block.keys_ahead, first / kLanes * tiles + t, kKeys / kLanes * tiles);
      V tile[kLanes];
      HWY_UNROLL(16)
      for (std::size_t l = 0; l < kLanes; ++l)
        tile[l] = F16::load(keys[l] + i * kElement).vector(0);
      transpose(tile);
      const float* q = rows.q + i;
      HWY_UNROLL(16)
      for (std::size_t l = 0; l < kLanes; ++l) {
        HWY_UNROLL(8)
        for (std::size_t r = 0; r < R; ++r) {
          const V factor = hn::Set(D(), q[r * static_cast<std::size_t>(rows.q_stride) + l]);
          sums[r] = hn::MulAdd(factor, tile[l], sums[r]);
        }
      }
    }
    HWY_UNROLL(8)
    for (std::size_t r = 0; r < R; ++r) hn::StoreU(sums[r], D(), scores + r * kKeys);
  }
};

void Attend(const KeyBlock& block, const QueryRows& rows, std::size_t seen) {
  if (block.key_rows != nullptr) return f32::attend<RowsOfF16>(block, rows, seen);
  f32::attend<f32::Packed>(block, rows, seen);
}

#if HWY_TARGET <= HWY_AVX3
/// Pairs of BF16, as AVX-512 BF16 multiplies them. (It takes subnormal numbers for 0.) As text,
/// because Highway 1.0.3 knows no target with these instructions.
struct ProductOfPairs {
  static constexpr std::size_t kElements = 2;
  static HWY_INLINE V add(V sum, V factor, V vector) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(factor.raw), "v"(vector.raw));
    return sum;
  }
  static HWY_INLINE void round(float* weights) {
    for (std::size_t i = 0; i < kKeys / 2; i += kLanes) {
      const V low = hn::Load(D(), weights + 2 * i);
      const V high = hn::Load(D(), weights + 2 * i + kLanes);
      V both;
      asm("vcvtne2ps2bf16 %2, %1, %0" : "=v"(both.raw) : "v"(high.raw), "v"(low.raw));
      hn::Store(both, D(), weights + i);
    }
  }
};

namespace pairs {
using Product = ProductOfPairs;
#include "backends/cpu/simd/attention_tiles-inl.h"
}  // namespace pairs

bool HasPairs() {
  return __builtin_cpu_supports("avx512bf16") != 0;
}
void AttendPairs(const KeyBlock& block, const QueryRows& rows, std::size_t seen) {
  pairs::attend<pairs::Packed>(block, rows, seen);
}
/// An element of two neighbouring rows is a pair; after the last of an odd number comes a row of
/// zeros.
void PairValues(const std::byte* from, std::size_t stride, std::size_t count, std::size_t dv,
                float* to, std::size_t to_stride) {
  for (std::size_t n = 0; n < count; n += 2, from += 2 * stride, to += to_stride) {
    for (std::size_t i = 0; i < dv; i += kLanes) {
      const auto load = [&](std::size_t row) HWY_ATTR {
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256(
            reinterpret_cast<const __m256i*>(from + row * stride + i * sizeof(std::uint16_t))));
      };
      const auto odd = n + 1 < count ? load(1) : _mm512_setzero_si512();
      const auto pair = _mm512_or_si512(load(0), _mm512_slli_epi32(odd, 16));
      _mm512_storeu_si512(to + i, pair);
    }
  }
}
#else
bool HasPairs() {
  return false;
}
void AttendPairs(const KeyBlock&, const QueryRows&, std::size_t) {}
void PairValues(const std::byte*, std::size_t, std::size_t, std::size_t, float*, std::size_t) {}
#endif

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shunt::cpu::simd {

HWY_EXPORT(PackF32);
HWY_EXPORT(PackF16);
HWY_EXPORT(PackBF16);
HWY_EXPORT(PackQ8);
HWY_EXPORT(PackQ4);
HWY_EXPORT(UnpackF32);
HWY_EXPORT(UnpackF16);
HWY_EXPORT(UnpackBF16);
HWY_EXPORT(UnpackQ8);
HWY_EXPORT(UnpackQ4);
HWY_EXPORT(Attend);
HWY_EXPORT(HasPairs);
HWY_EXPORT(AttendPairs);
HWY_EXPORT(PairValues);

bool packs(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16 ||
         type == DType::kQ8_0 || type == DType::kQ4_0;
}

void pack_keys(Level level, DType type, const std::byte* from, std::int64_t stride,
               std::int64_t first, std::int64_t count, std::int64_t d, float* keys) {
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const auto call = [&](auto pack) {
    pack(from, size(stride), size(first), size(count), size(d), keys);
  };
  switch (type) {
    case DType::kF32:
      return call(SHUNT_DISPATCH(level, PackF32));
    case DType::kF16:
      return call(SHUNT_DISPATCH(level, PackF16));
    case DType::kBF16:
      return call(SHUNT_DISPATCH(level, PackBF16));
    case DType::kQ8_0:
      return call(SHUNT_DISPATCH(level, PackQ8));
    default:
      return call(SHUNT_DISPATCH(level, PackQ4));
  }
}

void unpack_values(Level level, DType type, const std::byte* from, std::int64_t stride,
                   std::int64_t count, std::int64_t dv, float* to, std::int64_t to_stride) {
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const auto call = [&](auto unpack) {
    unpack(from, size(stride), size(count), size(dv), to, size(to_stride));
  };
  switch (type) {
    case DType::kF32:
      return call(SHUNT_DISPATCH(level, UnpackF32));
    case DType::kF16:
      return call(SHUNT_DISPATCH(level, UnpackF16));
    case DType::kBF16:
      return call(SHUNT_DISPATCH(level, UnpackBF16));
    case DType::kQ8_0:
      return call(SHUNT_DISPATCH(level, UnpackQ8));
    default:
      return call(SHUNT_DISPATCH(level, UnpackQ4));
  }
}

bool has_pairs(Level level) {
  return SHUNT_DISPATCH(level, HasPairs)();
}

void pair_values(Level level, const std::byte* from, std::int64_t stride, std::int64_t count,
                 std::int64_t dv, float* to, std::int64_t to_stride) {
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  SHUNT_DISPATCH(level, PairValues)
  (from, size(stride), size(count), size(dv), to, size(to_stride));
}

void attend(Level level, const KeyBlock& block, const QueryRows& rows, std::int64_t seen) {
  const auto keys = static_cast<std::size_t>(seen);
  if (block.pairs) return SHUNT_DISPATCH(level, AttendPairs)(block, rows, keys);
  SHUNT_DISPATCH(level, Attend)(block, rows, keys);
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
