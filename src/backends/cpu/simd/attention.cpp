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

void PackF32(const std::byte* from, std::size_t stride, std::size_t first, std::size_t count,
             std::size_t d, float* keys) {
  pack_rows<F32>(from, stride, first, count, d, keys);
}
void PackF16(const std::byte* from, std::size_t stride, std::size_t first, std::size_t count,
             std::size_t d, float* keys) {
  pack_rows<F16>(from, stride, first, count, d, keys);
}
void PackBF16(const std::byte* from, std::size_t stride, std::size_t first, std::size_t count,
              std::size_t d, float* keys) {
  pack_rows<BF16>(from, stride, first, count, d, keys);
}
void PackQ8(const std::byte* from, std::size_t stride, std::size_t first, std::size_t count,
            std::size_t d, float* keys) {
  pack_rows<Q8_0>(from, stride, first, count, d, keys);
}
void PackQ4(const std::byte* from, std::size_t stride, std::size_t first, std::size_t count,
            std::size_t d, float* keys) {
  pack_rows<Q4_0>(from, stride, first, count, d, keys);
}

/// scores[r][key] of R rows and N vectors of keys, from a panel.
template <int R, int N>
HWY_INLINE void score_tile(const float* panel, std::size_t d, const float* q, std::size_t q_stride,
                           float* scores) {
  V sums[R][N];
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(8)
    for (int n = 0; n < N; ++n) sums[r][n] = hn::Zero(D());
  }
  for (std::size_t i = 0; i < d; ++i) {
    V keys[N];
    HWY_UNROLL(8)
    for (int n = 0; n < N; ++n) {
      keys[n] = hn::LoadU(D(), panel + i * kPanel + static_cast<std::size_t>(n) * kLanes);
    }
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      const V of_q = hn::Set(D(), q[static_cast<std::size_t>(r) * q_stride + i]);
      HWY_UNROLL(8)
      for (int n = 0; n < N; ++n) sums[r][n] = hn::MulAdd(of_q, keys[n], sums[r][n]);
    }
  }
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(8)
    for (int n = 0; n < N; ++n) {
      hn::StoreU(
          sums[r][n], D(),
          scores + static_cast<std::size_t>(r) * kKeys + static_cast<std::size_t>(n) * kLanes);
    }
  }
}

/// values[r] = values[r] * factors[r] + the sum over `seen` keys of weight times value, for R rows
/// and N vectors.
template <int R, int N>
HWY_INLINE void value_tile(const float* weights, std::size_t seen, const float* v,
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
  for (std::size_t j = 0; j < seen; ++j) {
    V row[N];
    HWY_UNROLL(8)
    for (int n = 0; n < N; ++n) {
      row[n] = hn::LoadU(D(), v + j * v_stride + static_cast<std::size_t>(n) * kLanes);
    }
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      const V weight = hn::Set(D(), weights[static_cast<std::size_t>(r) * kKeys + j]);
      HWY_UNROLL(8)
      for (int n = 0; n < N; ++n) sums[r][n] = hn::MulAdd(weight, row[n], sums[r][n]);
    }
  }
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(8)
    for (int n = 0; n < N; ++n) {
      hn::StoreU(
          sums[r][n], D(),
          values + static_cast<std::size_t>(r) * stride + static_cast<std::size_t>(n) * kLanes);
    }
  }
}

template <int R>
void attend_rows(const KeyBlock& block, const QueryRows& rows, std::size_t seen) {
  HWY_ALIGN float scores[static_cast<std::size_t>(R) * kKeys];
  float factors[R];
  const auto d = static_cast<std::size_t>(block.d);
  const auto q_stride = static_cast<std::size_t>(rows.q_stride);
  for (std::size_t key = 0; key < seen; key += kPanel) {
    const float* panel = block.keys + key * d;
    float* to = scores + key;
    with_vectors((seen - key + kLanes - 1) / kLanes, [&](auto vectors) HWY_ATTR {
      score_tile<R, vectors()>(panel, d, rows.q, q_stride, to);
    });
  }
  weigh(rows, seen, static_cast<std::size_t>(block.dv), scores, factors);
  const auto v_stride = static_cast<std::size_t>(block.value_stride);
  const auto stride = static_cast<std::size_t>(rows.gathered_stride);
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

void attend(const KeyBlock& block, const QueryRows& rows, std::int64_t seen) {
  HWY_DYNAMIC_DISPATCH(Attend)(block, rows, static_cast<std::size_t>(seen));
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
