#include "backends/cpu/simd/attention.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/attention.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/attention-inl.h"
#include "backends/cpu/simd/formats-inl.h"
#include "backends/cpu/simd/transpose-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

/// Vectors of keys, or of values, in a tile: kTileRows times so many sums, as many vectors and one
/// of a row of q fit the registers, of which AVX-512 and NEON have 32, the others 16.
inline constexpr int kWide = HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON ? 4 : 2;
/// Keys whose elements of one d lie together.
inline constexpr std::size_t kPanel = kWide * kLanes;
inline constexpr std::size_t kKeys = static_cast<std::size_t>(kKeyBlock);
static_assert(kKeys % kPanel == 0 && kKeyGroup % kLanes == 0 && kWeightSums % kLanes == 0);

/// Rows are read a tile of kLanes keys and elements at a time, which is turned in registers.
template <class Format>
void pack_rows(const std::byte* from, std::size_t stride, std::size_t first, std::size_t count,
               std::size_t d, float* keys) {
  constexpr std::size_t kElement = Format::kBytes / kBlock;  // of a plain type
  for (std::size_t n = 0; n < count; n += kLanes) {
    const std::byte* rows[kLanes];
    // In place of keys that aren't there, the last is read again: they are never looked at.
    for (std::size_t l = 0; l < kLanes; ++l) rows[l] = from + std::min(n + l, count - 1) * stride;
    const std::size_t key = first + n;
    float* to = keys + key / kPanel * kPanel * d + key % kPanel;
    for (std::size_t i = 0; i < d; i += kLanes) {
      V tile[kLanes];
      HWY_UNROLL(16)
      for (std::size_t l = 0; l < kLanes; ++l) {
        if constexpr (Format::kPlain) {
          tile[l] = Format::load(rows[l] + i * kElement).vector(0);
        } else {
          tile[l] = Format::load(rows[l] + i / kBlock * Format::kBytes).vector(i % kBlock / kLanes);
        }
      }
      transpose(tile);
      HWY_UNROLL(16)
      for (std::size_t l = 0; l < kLanes; ++l) hn::StoreU(tile[l], D(), to + (i + l) * kPanel);
    }
  }
}

/// Rows of whole vectors.
template <class Format>
void unpack_rows(const std::byte* from, std::size_t stride, std::size_t count, std::size_t dv,
                 float* to, std::size_t to_stride) {
  constexpr std::size_t kElement = Format::kBytes / kBlock;  // of a plain type
  for (std::size_t n = 0; n < count; ++n, from += stride, to += to_stride) {
    for (std::size_t i = 0; i < dv; i += kKeyGroup) {
      const auto block =
          Format::load(from + (Format::kPlain ? i * kElement : i / kBlock * Format::kBytes));
      HWY_UNROLL(4)
      for (std::size_t j = 0; j < kKeyGroup / kLanes; ++j) {
        const std::size_t vector = (Format::kPlain ? 0 : i % kBlock / kLanes) + j;
        hn::StoreU(block.vector(vector), D(), to + i + j * kLanes);
      }
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
/// sums[r] = sums[r] + the sum over `terms` of factors[r][j] * vectors[j], for R rows and N
/// vectors. (Those are no array, which g++ would keep in memory.)
template <int R, int N>
HWY_INLINE void add_products(V (&sums)[R][N], std::size_t terms, const float* vectors,
                             std::size_t vector_stride, const float* factors,
                             std::size_t factor_stride) {
  const D d;
  for (std::size_t j = 0; j < terms; ++j, vectors += vector_stride) {
    const V v0 = hn::LoadU(d, vectors);
    const V v1 = hn::LoadU(d, vectors + (N > 1 ? 1 : 0) * kLanes);
    const V v2 = hn::LoadU(d, vectors + (N > 2 ? 2 : 0) * kLanes);
    const V v3 = hn::LoadU(d, vectors + (N > 3 ? 3 : 0) * kLanes);
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      const V factor = hn::Set(d, factors[static_cast<std::size_t>(r) * factor_stride + j]);
      sums[r][0] = hn::MulAdd(factor, v0, sums[r][0]);
      if constexpr (N > 1) sums[r][1] = hn::MulAdd(factor, v1, sums[r][1]);
      if constexpr (N > 2) sums[r][2] = hn::MulAdd(factor, v2, sums[r][2]);
      if constexpr (N > 3) sums[r][3] = hn::MulAdd(factor, v3, sums[r][3]);
    }
  }
}

template <int R, int N>
HWY_INLINE void store_sums(const V (&sums)[R][N], float* to, std::size_t stride) {
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(8)
    for (int n = 0; n < N; ++n) {
      hn::StoreU(sums[r][n], D(),
                 to + static_cast<std::size_t>(r) * stride + static_cast<std::size_t>(n) * kLanes);
    }
  }
}

/// scores[r][key] of R rows and N vectors of keys, from a panel.
template <int R, int N>
HWY_NOINLINE void score_tile(const float* panel, std::size_t d, const float* q,
                             std::size_t q_stride, float* scores) {
  V sums[R][N];
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(8)
    for (int n = 0; n < N; ++n) sums[r][n] = hn::Zero(D());
  }
  add_products(sums, d, panel, kPanel, q, q_stride);
  store_sums(sums, scores, kKeys);
}

/// values[r] = values[r] * factors[r] + the sum over `seen` keys of weight times value, for R rows
/// and N vectors.
template <int R, int N>
HWY_NOINLINE void value_tile(const float* weights, std::size_t seen, const float* v,
                             std::size_t v_stride, const float* factors, float* values,
                             std::size_t stride) {
  V sums[R][N];
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    const V factor = hn::Set(D(), factors[r]);
    HWY_UNROLL(8)
    for (int n = 0; n < N; ++n) {
      const float* from =
          values + static_cast<std::size_t>(r) * stride + static_cast<std::size_t>(n) * kLanes;
      sums[r][n] = hn::Mul(factor, hn::LoadU(D(), from));
    }
  }
  add_products(sums, seen, v, v_stride, weights, kKeys);
  store_sums(sums, values, stride);
}

template <int R>
void attend_rows(const KeyBlock& block, const QueryRows& rows, std::size_t seen) {
  HWY_ALIGN float scores[static_cast<std::size_t>(R) * kKeys];
  HWY_ALIGN float factors[kFactors];
  const auto d = static_cast<std::size_t>(block.d);
  const auto q_stride = static_cast<std::size_t>(rows.q_stride);
  // What rows have gathered is needed last.
  constexpr std::size_t kLine = 64 / sizeof(float);
  const auto stride = static_cast<std::size_t>(rows.gathered_stride);
  for (std::size_t i = 0; i < R * stride; i += kLine) __builtin_prefetch(rows.gathered + i);
  for (std::size_t key = 0; key < seen; key += kPanel) {
    const float* panel = block.keys + key * d;
    float* to = scores + key;
    with_vectors((seen - key + kLanes - 1) / kLanes, [&](auto vectors) HWY_ATTR {
      score_tile<R, vectors()>(panel, d, rows.q, q_stride, to);
    });
  }
  weigh(rows, seen, static_cast<std::size_t>(block.dv), scores, factors);
  const auto v_stride = static_cast<std::size_t>(block.value_stride);
  // Tiles of about the same width.
  const std::size_t all = static_cast<std::size_t>(block.dv) / kLanes;
  const std::size_t tiles = (all + kWide - 1) / kWide;
  for (std::size_t t = 0; t < tiles; ++t) {
    const std::size_t begin = all * t / tiles;
    const std::size_t i = begin * kLanes;
    with_vectors(all * (t + 1) / tiles - begin, [&](auto vectors) HWY_ATTR {
      value_tile<R, vectors()>(scores, seen, block.values + i, v_stride, factors, rows.gathered + i,
                               stride);
    });
  }
}

void Attend(const KeyBlock& block, const QueryRows& rows, std::size_t seen) {
  using AttendRows = void (*)(const KeyBlock&, const QueryRows&, std::size_t);
  static constexpr AttendRows kByCount[] = {attend_rows<1>, attend_rows<2>, attend_rows<3>,
                                            attend_rows<4>, attend_rows<5>, attend_rows<6>};
  static_assert(sizeof kByCount / sizeof kByCount[0] == kTileRows);
  kByCount[rows.count - 1](block, rows, seen);
}

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

bool packs(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16 ||
         type == DType::kQ8_0 || type == DType::kQ4_0;
}

void pack_keys(DType type, const std::byte* from, std::int64_t stride, std::int64_t first,
               std::int64_t count, std::int64_t d, float* keys) {
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const auto call = [&](auto pack) {
    pack(from, size(stride), size(first), size(count), size(d), keys);
  };
  switch (type) {
    case DType::kF32:
      return call(HWY_DYNAMIC_DISPATCH(PackF32));
    case DType::kF16:
      return call(HWY_DYNAMIC_DISPATCH(PackF16));
    case DType::kBF16:
      return call(HWY_DYNAMIC_DISPATCH(PackBF16));
    case DType::kQ8_0:
      return call(HWY_DYNAMIC_DISPATCH(PackQ8));
    default:
      return call(HWY_DYNAMIC_DISPATCH(PackQ4));
  }
}

void unpack_values(DType type, const std::byte* from, std::int64_t stride, std::int64_t count,
                   std::int64_t dv, float* to, std::int64_t to_stride) {
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const auto call = [&](auto unpack) {
    unpack(from, size(stride), size(count), size(dv), to, size(to_stride));
  };
  switch (type) {
    case DType::kF32:
      return call(HWY_DYNAMIC_DISPATCH(UnpackF32));
    case DType::kF16:
      return call(HWY_DYNAMIC_DISPATCH(UnpackF16));
    case DType::kBF16:
      return call(HWY_DYNAMIC_DISPATCH(UnpackBF16));
    case DType::kQ8_0:
      return call(HWY_DYNAMIC_DISPATCH(UnpackQ8));
    default:
      return call(HWY_DYNAMIC_DISPATCH(UnpackQ4));
  }
}

void attend(const KeyBlock& block, const QueryRows& rows, std::int64_t seen) {
  HWY_DYNAMIC_DISPATCH(Attend)(block, rows, static_cast<std::size_t>(seen));
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
