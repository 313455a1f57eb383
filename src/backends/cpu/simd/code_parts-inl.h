// The parts from which formats make codes: words and bytes as vectors, the order of codes, scales
// spread over lanes. Included once for each target.
#if defined(SHUNT_CPU_SIMD_CODE_PARTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_CODE_PARTS_INL_H
#undef SHUNT_CPU_SIMD_CODE_PARTS_INL_H
#else
#define SHUNT_CPU_SIMD_CODE_PARTS_INL_H
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/simd/formats-inl.h"
#include "backends/cpu/simd/int8.h"
#include "hwy/highway.h"

#if HWY_ARCH_X86
#include <immintrin.h>
#endif

// A single lane has nothing to gain from bytes.
#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE::codes {

using D8 = hn::ScalableTag<std::uint8_t>;
using V8 = hn::Vec<D8>;
/// Bytes in a vector.
inline constexpr std::size_t kBytes = hn::MaxLanes(D8());

HWY_INLINE V8 load(const std::byte* from) {
  return hn::LoadU(D8(), reinterpret_cast<const std::uint8_t*>(from));
}
HWY_INLINE V8 all(std::uint8_t value) {
  return hn::Set(D8(), value);
}
/// An integer, stored little-endian.
template <class T>
HWY_INLINE T little(const std::byte* from) {
  T value = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  std::memcpy(&value, from, sizeof value);
#else
  for (std::size_t i = sizeof value; i > 0; --i) {
    value = static_cast<T>(value << 8 | std::to_integer<T>(from[i - 1]));
  }
#endif
  return value;
}
HWY_INLINE std::uint32_t little_u32(const std::byte* from) {
  return little<std::uint32_t>(from);
}
HWY_INLINE std::uint16_t little_u16(const std::byte* from) {
  return little<std::uint16_t>(from);
}
HWY_INLINE float f16_value(std::uint16_t bits) {
  const hn::CappedTag<float, 1> d1;
  const hn::Rebind<std::uint16_t, decltype(d1)> d16;
  return hn::GetLane(f16_to_f32(d1, hn::Set(d16, bits)));
}
/// One F16, stored little-endian.
HWY_INLINE float f16_at(const std::byte* from) {
  return f16_value(little_u16(from));
}

// ---- the order of codes
//
// A group's codes come as vectors, in the order that is cheapest to make; 16 neighbouring elements
// always stay together. Natural: as they are. Halves: for blocks of 32 whose bytes hold elements i
// and i + 16. First come the first halves of as many blocks as a vector holds 16 elements, then
// their second halves. Both have the same scales, lane by lane. Pairs: vectors of 64 bytes hold
// blocks 0 and 2, then 1 and 3. Quarters: they hold blocks 0 and 4, 1 and 5, 2 and 6, then 3 and 7.
// For both, smaller vectors are natural.

/// Which 16 elements of a group are at 16 bytes number `piece` of its vectors.
constexpr std::size_t sixteen_at(CodeOrder order, std::size_t piece) {
  constexpr std::size_t kPieces = kBytes / 16;
  if (order == CodeOrder::kHalves) {
    const std::size_t vector = piece / kPieces;
    return (vector / 2 * kPieces + piece % kPieces) * 2 + vector % 2;
  }
  if (kBytes < 64 || order == CodeOrder::kNatural) return piece;
  const std::size_t first =
      order == CodeOrder::kPairs ? piece / 8 * 4 + piece / 4 % 2 : piece / 16 * 8 + piece / 4 % 4;
  const std::size_t step = order == CodeOrder::kPairs ? 2 : 4;
  return (first + piece / 2 % 2 * step) * 2 + piece % 2;
}

/// For each vector of a group N numbers: f(vector, 0), f(vector, 1), ...
template <class T, std::size_t N, class Function>
constexpr std::array<std::array<T, N>, 256 / kBytes> by_vector(const Function& f) {
  std::array<std::array<T, N>, 256 / kBytes> numbers{};
  for (std::size_t v = 0; v < numbers.size(); ++v) {
    for (std::size_t i = 0; i < N; ++i) numbers[v][i] = static_cast<T>(f(v, i));
  }
  return numbers;
}

/// Lanes of vector `v` of a group that hold run number lane_run() of `Run` elements.
template <CodeOrder Order, std::size_t Run>
constexpr std::size_t lane_run(std::size_t v, std::size_t lane) {
  return sixteen_at(Order, v * (kBytes / 16) + lane / 4) * 16 / Run;
}

/// 8 or 16 small numbers as bytes, from words whose lowest byte is the first.
template <std::size_t N>
using Small = hn::Vec<hn::CappedTag<std::uint8_t, N>>;
HWY_INLINE std::uint64_t in_memory_order(std::uint64_t word) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}
HWY_INLINE Small<8> small_numbers(std::uint64_t word) {
  const hn::CappedTag<std::uint8_t, 8> d;
  return hn::BitCast(d, hn::Set(hn::CappedTag<std::uint64_t, 1>(), in_memory_order(word)));
}
/// All 16, again in each 16 bytes of a vector.
HWY_INLINE V8 small_numbers_again(std::uint64_t low, std::uint64_t high) {
  const hn::Repartition<std::uint64_t, D8> d64;
  return hn::BitCast(D8(), hn::InterleaveLower(d64, hn::Set(d64, in_memory_order(low)),
                                               hn::Set(d64, in_memory_order(high))));
}
/// d * (number - bias).
template <class DF, class Numbers>
HWY_INLINE hn::Vec<DF> scaled(DF df, Numbers numbers, float d, float bias) {
  const hn::RebindToSigned<DF> di;
  const auto value = hn::ConvertTo(df, hn::PromoteTo(di, numbers));
  return hn::Mul(hn::Sub(value, hn::Set(df, bias)), hn::Set(df, d));
}

/// The scales of a group, spread over the lanes of its vectors.
template <CodeOrder Order, std::size_t Run>
HWY_INLINE V spread(const float* scales, std::size_t v) {
  const D d;
  constexpr auto run = lane_run<Order, Run>;
  if constexpr (kLanes == 4) {
    return hn::Set(d, scales[run(v, 0)]);
  } else if constexpr (kLanes == 8) {
    if (run(v, 0) == run(v, 4)) return hn::Set(d, scales[run(v, 0)]);
    return hn::ConcatUpperLower(d, hn::Set(d, scales[run(v, 4)]), hn::Set(d, scales[run(v, 0)]));
  } else {
    const auto half = [&](std::size_t lane) {
      const hn::Half<D> dh;
      const auto low = hn::Set(dh, scales[run(v, lane)]);
      if (run(v, lane) == run(v, lane + 4)) return low;
      return hn::ConcatUpperLower(dh, hn::Set(dh, scales[run(v, lane + 4)]), low);
    };
    return hn::Combine(d, half(8), half(0));
  }
}

/// The scales of a group, each once; vectors of 16 lanes keep them in a register.
template <std::size_t N>
class ScaleSet {
 public:
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  /// `bytes`: N signed or unsigned ones.
  template <class Bytes>
  HWY_INLINE ScaleSet(Bytes bytes, float d, float bias)
      : v_(widened(scaled(hn::CappedTag<float, N>(), bytes, d, bias))) {}
  template <CodeOrder Order, std::size_t Run>
  HWY_INLINE V spread(std::size_t v) const {
    alignas(64) static constexpr auto kLane = by_vector<std::int32_t, kLanes>(
        [](std::size_t vector, std::size_t lane) { return lane_run<Order, Run>(vector, lane); });
    return V{_mm512_maskz_permutexvar_ps(0xffff, _mm512_load_si512(kLane[v].data()), v_.raw)};
  }
  HWY_INLINE void store(float* to) const {
    const hn::CappedTag<float, N> d;
    hn::StoreU(narrowed(d), d, to);
  }

 private:
  template <class VN>
  static HWY_INLINE V widened(VN v) {
    if constexpr (N == 16) {
      return v;
    } else {
      return hn::ZeroExtendVector(D(), v);
    }
  }
  template <class DN>
  HWY_INLINE hn::Vec<DN> narrowed(DN d) const {
    if constexpr (N == 16) {
      return v_;
    } else {
      return hn::LowerHalf(d, v_);
    }
  }
  V v_;
#else
  template <class Bytes>
  HWY_INLINE ScaleSet(Bytes bytes, float d, float bias) {
    using T = hn::TFromV<Bytes>;
    alignas(16) T each[N];
    const hn::CappedTag<T, N> dn;
    hn::Store(bytes, dn, each);
    const hn::CappedTag<float, 8> df;
    const hn::Rebind<T, decltype(df)> d8;
    for (std::size_t i = 0; i < N; i += hn::MaxLanes(df)) {
      hn::Store(scaled(df, hn::LoadU(d8, each + i), d, bias), df, all_ + i);
    }
  }
  HWY_INLINE explicit ScaleSet(const float* stored) {
    std::memcpy(all_, stored, sizeof all_);
  }
  template <CodeOrder Order, std::size_t Run>
  HWY_INLINE V spread(std::size_t v) const {
    return codes::spread<Order, Run>(all_, v);
  }
  HWY_INLINE void store(float* to) const {
    std::memcpy(to, all_, sizeof all_);
  }

 private:
  alignas(32) float all_[N];
#endif
};

// ---- pieces of codes

/// The 16 bytes at `from`, and as many more, `stride` bytes apart, as a vector holds.
template <std::size_t Bytes = kBytes>
HWY_INLINE V8 sixteens(const std::byte* from, std::size_t stride) {
  const hn::CappedTag<std::uint8_t, Bytes> d;
  const hn::CappedTag<std::uint8_t, std::min<std::size_t>(Bytes, 16)> d16;
  const auto at = [&](std::size_t i) {
    return hn::LoadU(d16, reinterpret_cast<const std::uint8_t*>(from + i * stride));
  };
  if constexpr (Bytes == 16) {
    return at(0);
  } else if constexpr (Bytes == 32) {
    return hn::Combine(d, at(1), at(0));
  } else {
    const hn::Half<decltype(d)> half;
    return hn::Combine(d, hn::Combine(half, at(3), at(2)), hn::Combine(half, at(1), at(0)));
  }
}
/// 32 bytes at `low`, and 32 at `high` in a second half, if vectors hold 64; else those of them
/// that vector v of all 32 at a time holds.
template <std::size_t Bytes = kBytes>
HWY_INLINE V8 thirty_twos(const std::byte* low, const std::byte* high, std::size_t v) {
  if constexpr (Bytes == 64) {
    const hn::CappedTag<std::uint8_t, Bytes> d;
    const hn::Half<decltype(d)> half;
    const auto at = [&](const std::byte* from) {
      return hn::LoadU(half, reinterpret_cast<const std::uint8_t*>(from));
    };
    return hn::Combine(d, at(high), at(low));
  } else {
    return load(low + v * Bytes % 32);
  }
}
/// Stores 16 bytes number p of `lower`, then those of `upper`, at to + at[p], aligned to 32 bytes.
template <std::size_t Bytes = kBytes>
HWY_INLINE void store_sixteens(V8 lower, V8 upper, std::uint8_t* to,
                               const std::array<std::uint16_t, kBytes / 16>& at) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  const auto place = [&](std::size_t p) { return reinterpret_cast<__m256i*>(to + at[p]); };
  const __m512i first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
  const __m512i last = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
  const __m512i low = _mm512_permutex2var_epi64(lower.raw, first, upper.raw);
  const __m512i high = _mm512_permutex2var_epi64(lower.raw, last, upper.raw);
  _mm256_store_si256(place(0), _mm512_castsi512_si256(low));
  _mm256_store_si256(place(1), _mm512_maskz_extracti64x4_epi64(15, low, 1));
  _mm256_store_si256(place(2), _mm512_castsi512_si256(high));
  _mm256_store_si256(place(3), _mm512_maskz_extracti64x4_epi64(15, high, 1));
#else
  const hn::CappedTag<std::uint8_t, Bytes> d;
  if constexpr (Bytes == 16) {
    hn::Store(lower, d, to + at[0]);
    hn::Store(upper, d, to + at[0] + 16);
  } else {
    hn::Store(hn::ConcatLowerLower(d, upper, lower), d, to + at[0]);
    hn::Store(hn::ConcatUpperUpper(d, upper, lower), d, to + at[1]);
  }
#endif
}
/// Bits of bytes, from `bit` on, at the bottom.
template <int Bit>
HWY_INLINE V8 down(V8 v, std::uint8_t mask) {
  const hn::Repartition<std::uint32_t, D8> d32;
  return hn::And(hn::BitCast(D8(), hn::ShiftRight<Bit>(hn::BitCast(d32, v))), all(mask));
}
/// The same, higher up.
template <int Bit>
HWY_INLINE V8 up(V8 v, std::uint8_t mask) {
  const hn::Repartition<std::uint32_t, D8> d32;
  return hn::And(hn::BitCast(D8(), hn::ShiftLeft<Bit>(hn::BitCast(d32, v))), all(mask));
}
/// A table of 16 bytes looked up.
HWY_INLINE V8 look_up(const std::uint8_t* table, V8 indices) {
  return hn::TableLookupBytes(hn::LoadDup128(D8(), table), indices);
}
/// Whether bit i is set, for each byte i of a vector.
HWY_INLINE hn::Mask<D8> bits_as_mask(std::uint64_t word) {
  // LoadMaskBits() always reads 8 bytes, in the order of memory.
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  std::uint8_t bytes[8];
  std::memcpy(bytes, &word, sizeof bytes);
  return hn::LoadMaskBits(D8(), bytes);
}
/// The same of bit i % 16 of bits[i / 16].
HWY_INLINE hn::Mask<D8> bits_as_mask(const std::uint16_t (&bits)[kBytes / 16]) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < kBytes / 16; ++i) word |= std::uint64_t{bits[i]} << (16 * i);
  return bits_as_mask(word);
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE::codes
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // SHUNT_CPU_SIMD_CODE_PARTS_INL_H
