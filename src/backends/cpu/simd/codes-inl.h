// Quantised weights as bytes: what the products with 8-bit activations are made of. A format gives
// `kGroup` elements at a time, as chunks of 64 codes u (one byte each, in the order of the elements)
// and a scale s for each run of 32 or 16 elements:
//   kMinRun == 0:  value = s * (u - 128)
//   else:          value = s * u - m, with a minimum m for each such run of elements
// The codes are chosen so that this is exact: no weight is rounded. Included once for each target.
#if defined(SHUNT_CPU_SIMD_CODES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_CODES_INL_H
#undef SHUNT_CPU_SIMD_CODES_INL_H
#else
#define SHUNT_CPU_SIMD_CODES_INL_H
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/simd/formats-inl.h"
#include "hwy/highway.h"
#include "shunt/tensor.h"

// A single lane has nothing to gain from bytes.
#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE::codes {

using D8 = hn::ScalableTag<std::uint8_t>;
using V8 = hn::Vec<D8>;
/// Bytes in a vector.
inline constexpr std::size_t kBytes = hn::MaxLanes(D8());
/// A chunk: so many codes, in so many vectors.
inline constexpr std::size_t kChunk = 64;
inline constexpr std::size_t kParts = kChunk / kBytes;
static_assert(kParts * kBytes == kChunk);

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
/// One F16, stored little-endian.
HWY_INLINE float f16_at(const std::byte* from) {
  const hn::CappedTag<float, 1> d1;
  const hn::Rebind<std::uint16_t, decltype(d1)> d16;
  return hn::GetLane(f16_to_f32(d1, hn::Set(d16, little_u16(from))));
}

/// Part `p` of a chunk whose first half is `a` and whose second half is `b`, of 32 bytes each.
HWY_INLINE V8 halves(const std::byte* a, const std::byte* b, std::size_t p) {
  if constexpr (kBytes == 64) {
    const hn::Half<D8> half;
    const auto lower = hn::LoadU(half, reinterpret_cast<const std::uint8_t*>(a));
    const auto upper = hn::LoadU(half, reinterpret_cast<const std::uint8_t*>(b));
    return hn::Combine(D8(), upper, lower);
  } else {
    constexpr std::size_t kPerHalf = 32 / kBytes;
    return load((p < kPerHalf ? a : b) + p % kPerHalf * kBytes);
  }
}
/// Part `p` of a chunk that is 16 bytes of `a`, again, 16 of `b`, and again.
HWY_INLINE V8 twice_each(const std::byte* a, const std::byte* b, std::size_t p) {
  const auto* from_a = reinterpret_cast<const std::uint8_t*>(a);
  const auto* from_b = reinterpret_cast<const std::uint8_t*>(b);
  if constexpr (kBytes == 64) {
    return hn::ConcatUpperLower(D8(), hn::LoadDup128(D8(), from_b), hn::LoadDup128(D8(), from_a));
  } else {
    return hn::LoadDup128(D8(), p * kBytes < 32 ? from_a : from_b);
  }
}
/// Bytes of 8 lanes of 64 bits shifted right, by `even` where the 128 bits (or 256, if Wide) that
/// they are part of have an even number in the chunk, by `odd` else; and masked.
template <bool Wide>
HWY_INLINE V8 shifted(V8 v, int even, int odd, std::uint8_t mask, std::size_t p) {
  const hn::Repartition<std::uint64_t, D8> d64;
  constexpr std::size_t kSame = Wide ? 32 : 16;
  if constexpr (kBytes <= kSame) {
    const int by = p * kBytes / kSame % 2 == 0 ? even : odd;
    const auto moved = hn::ShiftRightSame(hn::BitCast(d64, v), by);
    return hn::And(hn::BitCast(D8(), moved), all(mask));
  } else {
    constexpr std::size_t kStep = kSame / 8;
    HWY_ALIGN std::uint64_t by[hn::MaxLanes(d64)];
    for (std::size_t i = 0; i < hn::MaxLanes(d64); ++i) {
      by[i] = static_cast<std::uint64_t>(i / kStep % 2 == 0 ? even : odd);
    }
    const auto moved = hn::Shr(hn::BitCast(d64, v), hn::Load(d64, by));
    return hn::And(hn::BitCast(D8(), moved), all(mask));
  }
}
/// A table of 16 bytes looked up.
HWY_INLINE V8 look_up(const std::uint8_t* table, V8 indices) {
  return hn::TableLookupBytes(hn::LoadDup128(D8(), table), indices);
}
/// 255 where bit i of 64 is set, else 0, for the bytes of a part.
HWY_INLINE V8 bits_to_bytes(std::uint32_t first, std::uint32_t second, std::size_t p) {
  // Each byte of the bits is spread over 8 bytes, of which each looks at its own bit.
  HWY_ALIGN std::uint64_t words[8];
  for (std::size_t i = 0; i < 4; ++i) {
    words[i] = (first >> (8 * i) & 255U) * 0x0101010101010101U;
    words[i + 4] = (second >> (8 * i) & 255U) * 0x0101010101010101U;
  }
  const hn::Repartition<std::uint64_t, D8> d64;
  const V8 spread = hn::BitCast(D8(), hn::Load(d64, words + p * kBytes / 8));
  const V8 bit = hn::BitCast(D8(), hn::Set(d64, 0x8040201008040201U));
  return hn::VecFromMask(D8(), hn::Eq(hn::And(spread, bit), bit));
}
/// to[i] = d * (bytes[i] - bias), n a multiple of 4.
template <class T>
HWY_INLINE void scale_bytes(const T* bytes, std::size_t n, float d, float bias, float* to) {
  const hn::CappedTag<float, 8> df;
  const hn::Rebind<T, decltype(df)> d8;
  const hn::RebindToSigned<decltype(df)> di;
  for (std::size_t i = 0; i < n; i += hn::MaxLanes(df)) {
    const auto value = hn::ConvertTo(df, hn::PromoteTo(di, hn::LoadU(d8, bytes + i)));
    hn::StoreU(hn::Mul(hn::Sub(value, hn::Set(df, bias)), hn::Set(df, d)), df, to + i);
  }
}

/// What formats have in common.
template <std::size_t Group, std::size_t Bytes, std::size_t Run, std::size_t MinRun = 0>
struct Format {
  static constexpr std::size_t kGroup = Group;       ///< elements that are loaded together
  static constexpr std::size_t kGroupBytes = Bytes;  ///< their bytes
  static constexpr std::size_t kRun = Run;           ///< elements that share a scale
  static constexpr std::size_t kRuns = Group / Run;
  static constexpr std::size_t kMinRun = MinRun;  ///< elements that share a minimum; 0: an offset
  static constexpr std::size_t kMinRuns = MinRun == 0 ? 0 : Group / MinRun;
};

/// Types of 32 elements a block are loaded two blocks at a time.
template <std::size_t BlockBytes, std::size_t MinRun = 0>
using PairFormat = Format<64, 2 * BlockBytes, 32, MinRun>;

struct Q8_0 : PairFormat<34> {
  const std::byte* at;
  alignas(16) float scales[kRuns];
  HWY_INLINE explicit Q8_0(const std::byte* from) : at(from), scales{f16_at(from), f16_at(from + 34)} {}
  HWY_INLINE V8 codes(std::size_t, std::size_t p) const {
    return hn::Xor(halves(at + 2, at + 36, p), all(0x80));
  }
};

/// The nibbles at the top of bytes: 16 * (q - 8) + 128.
struct Q4_0 : PairFormat<18> {
  const std::byte* at;
  alignas(16) float scales[kRuns];
  HWY_INLINE explicit Q4_0(const std::byte* from)
      : at(from), scales{f16_at(from) / 16, f16_at(from + 18) / 16} {}
  HWY_INLINE V8 codes(std::size_t, std::size_t p) const {
    const V8 pairs = twice_each(at + 2, at + 20, p);
    const hn::Repartition<std::uint64_t, D8> d64;
    if constexpr (kBytes == 16) {
      if (p % 2 == 1) return hn::And(pairs, all(0xf0));
      return hn::And(hn::BitCast(D8(), hn::ShiftLeft<4>(hn::BitCast(d64, pairs))), all(0xf0));
    } else {
      HWY_ALIGN constexpr std::uint64_t kBy[8] = {4, 4, 0, 0, 4, 4, 0, 0};
      const auto moved = hn::Shl(hn::BitCast(d64, pairs), hn::Load(d64, kBy));
      return hn::And(hn::BitCast(D8(), moved), all(0xf0));
    }
  }
};

struct Q4_1 : PairFormat<20, 32> {
  const std::byte* at;
  alignas(16) float scales[kRuns];
  alignas(16) float mins[kMinRuns];
  HWY_INLINE explicit Q4_1(const std::byte* from)
      : at(from),
        scales{f16_at(from), f16_at(from + 20)},
        mins{-f16_at(from + 2), -f16_at(from + 22)} {}
  HWY_INLINE V8 codes(std::size_t, std::size_t p) const {
    return shifted<false>(twice_each(at + 4, at + 24, p), 0, 4, 15, p);
  }
};

struct Q5_0 : PairFormat<22> {
  const std::byte* at;
  alignas(16) float scales[kRuns];
  HWY_INLINE explicit Q5_0(const std::byte* from) : at(from), scales{f16_at(from), f16_at(from + 22)} {}
  HWY_INLINE V8 codes(std::size_t, std::size_t p) const {
    const V8 low = shifted<false>(twice_each(at + 6, at + 28, p), 0, 4, 15, p);
    // q - 16 + 128: 112 without the fifth bit, 128 with it.
    const V8 high = bits_to_bytes(little_u32(at + 2), little_u32(at + 24), p);
    return hn::Add(low, hn::Sub(all(112), hn::And(high, all(0xf0))));
  }
};

struct Q5_1 : PairFormat<24, 32> {
  const std::byte* at;
  alignas(16) float scales[kRuns];
  alignas(16) float mins[kMinRuns];
  HWY_INLINE explicit Q5_1(const std::byte* from)
      : at(from),
        scales{f16_at(from), f16_at(from + 24)},
        mins{-f16_at(from + 2), -f16_at(from + 26)} {}
  HWY_INLINE V8 codes(std::size_t, std::size_t p) const {
    const V8 low = shifted<false>(twice_each(at + 8, at + 32, p), 0, 4, 15, p);
    return hn::Or(low, hn::And(bits_to_bytes(little_u32(at + 4), little_u32(at + 28), p), all(16)));
  }
};

/// The levels of the IQ4 formats, each + 128.
HWY_ALIGN inline constexpr std::uint8_t kIq4Codes[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                                         129, 141, 153, 166, 181, 197, 217, 241};

struct IQ4_NL : PairFormat<18> {
  const std::byte* at;
  alignas(16) float scales[kRuns];
  HWY_INLINE explicit IQ4_NL(const std::byte* from) : at(from), scales{f16_at(from), f16_at(from + 18)} {}
  HWY_INLINE V8 codes(std::size_t, std::size_t p) const {
    return look_up(kIq4Codes, shifted<false>(twice_each(at + 2, at + 20, p), 0, 4, 15, p));
  }
};

/// Twice the numbers of E2M1, each + 128.
HWY_ALIGN inline constexpr std::uint8_t kE2M1Codes[16] = {128, 129, 130, 131, 132, 134, 136, 140,
                                                          128, 127, 126, 125, 124, 122, 120, 116};

struct MXFP4 : PairFormat<17> {
  const std::byte* at;
  alignas(16) float scales[kRuns];
  /// 2^(e - 128); not-a-number for 255.
  static HWY_INLINE float half_power(std::byte e) {
    const auto bits = std::to_integer<std::uint32_t>(e);
    std::uint32_t value = bits >= 2 ? (bits - 1) << 23 : 0x200000U << bits;
    if (bits == 255) value = 0x7fc00000U;
    float result = 0;
    std::memcpy(&result, &value, sizeof result);
    return result;
  }
  HWY_INLINE explicit MXFP4(const std::byte* from)
      : at(from), scales{half_power(from[0]), half_power(from[17])} {}
  HWY_INLINE V8 codes(std::size_t, std::size_t p) const {
    return look_up(kE2M1Codes, shifted<false>(twice_each(at + 1, at + 18, p), 0, 4, 15, p));
  }
};

/// Scales and minimums of Q4_K and Q5_K, see tensor/formats/k_blocks.h.
struct SixBitScales {
  alignas(32) float scales[8];
  alignas(32) float mins[8];
  HWY_INLINE SixBitScales(const std::byte* at, float d, float dmin) {
    const std::uint32_t a = little_u32(at);
    const std::uint32_t b = little_u32(at + 4);
    const std::uint32_t c = little_u32(at + 8);
    const auto join = [](std::uint32_t low, std::uint32_t high) {
      return std::uint64_t{low} | std::uint64_t{high} << 32;
    };
    // In memory, byte i is number i: little-endian, whatever the machine is.
    const std::uint64_t words[2] = {
        join(a & 0x3f3f3f3fU, (c & 0x0f0f0f0fU) | (a >> 2 & 0x30303030U)),
        join(b & 0x3f3f3f3fU, (c >> 4 & 0x0f0f0f0fU) | (b >> 2 & 0x30303030U))};
    convert(words[0], d, scales);
    convert(words[1], dmin, mins);
  }
  static HWY_INLINE void convert(std::uint64_t word, float d, float* to) {
    std::uint8_t bytes[8];
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    std::memcpy(bytes, &word, sizeof bytes);
    scale_bytes(bytes, 8, d, 0, to);
  }
};

struct Q4_K : Format<256, 144, 32, 32>, SixBitScales {
  const std::byte* at;
  HWY_INLINE explicit Q4_K(const std::byte* from)
      : SixBitScales(from + 4, f16_at(from), f16_at(from + 2)), at(from + 16) {}
  HWY_INLINE V8 codes(std::size_t j, std::size_t p) const {
    return shifted<true>(halves(at + 32 * j, at + 32 * j, p), 0, 4, 15, p);
  }
};

struct Q5_K : Format<256, 176, 32, 32>, SixBitScales {
  const std::byte* at;
  HWY_INLINE explicit Q5_K(const std::byte* from)
      : SixBitScales(from + 4, f16_at(from), f16_at(from + 2)), at(from + 16) {}
  HWY_INLINE V8 codes(std::size_t j, std::size_t p) const {
    const std::byte* low = at + 32 + 32 * j;
    const V8 nibbles = shifted<true>(halves(low, low, p), 0, 4, 15, p);
    const int bit = static_cast<int>(2 * j);
    const V8 fifth = shifted<true>(halves(at, at, p), bit, bit + 1, 1, p);
    return hn::Or(nibbles, hn::BitCast(D8(), hn::ShiftLeft<4>(hn::BitCast(
                                                 hn::Repartition<std::uint16_t, D8>(), fifth))));
  }
};

/// 4 * (q - 32) + 128.
struct Q6_K : Format<256, 210, 16> {
  const std::byte* at;
  alignas(64) float scales[kRuns];
  HWY_INLINE explicit Q6_K(const std::byte* from) : at(from) {
    scale_bytes(reinterpret_cast<const std::int8_t*>(from + 192), kRuns, f16_at(from + 208) / 4, 0,
                scales);
  }
  HWY_INLINE V8 codes(std::size_t j, std::size_t p) const {
    const hn::Repartition<std::uint64_t, D8> d64;
    const V8 low = load(at + 64 * (j / 2) + p * kBytes);
    const V8 nibbles =
        j % 2 == 0 ? hn::And(hn::BitCast(D8(), hn::ShiftLeft<2>(hn::BitCast(d64, low))), all(0x3c))
                   : hn::And(hn::BitCast(D8(), hn::ShiftRight<2>(hn::BitCast(d64, low))), all(0x3c));
    const std::byte* high = at + 128 + 32 * (j / 2);
    const int bit = j % 2 == 0 ? 0 : 4;
    const V8 pairs = shifted<true>(halves(high, high, p), bit, bit + 2, 3, p);
    return hn::Or(nibbles, hn::BitCast(D8(), hn::ShiftLeft<6>(hn::BitCast(d64, pairs))));
  }
};

/// Elements of 64 bytes of 2 bits each, 32 elements a plane: chunk j of 256.
HWY_INLINE V8 two_bits(const std::byte* at, std::size_t j, std::size_t p) {
  const std::byte* from = at + 32 * (j / 2);
  const int bit = j % 2 == 0 ? 0 : 4;
  return shifted<true>(halves(from, from, p), bit, bit + 2, 3, p);
}

/// For each 16 bytes of a part, one of `numbers` (16, one for each 16 elements of 256).
HWY_INLINE V8 spread_numbers(const std::uint8_t* numbers, std::size_t j, std::size_t p) {
  HWY_ALIGN std::uint8_t which[kBytes];
  for (std::size_t i = 0; i < kBytes; ++i) {
    which[i] = static_cast<std::uint8_t>(4 * j + (p * kBytes + i) / 16);
  }
  return hn::TableLookupBytes(hn::LoadDup128(D8(), numbers), hn::Load(D8(), which));
}

/// The product of a part's scale and its 2-bit numbers, at most 45, so that 256 elements share d.
struct Q2_K : Format<256, 84, 32, 16> {
  const std::byte* at;
  alignas(32) float scales[kRuns];
  alignas(64) float mins[kMinRuns];
  alignas(16) std::uint8_t factors[16];
  HWY_INLINE explicit Q2_K(const std::byte* from) : at(from + 16) {
    std::uint8_t m[16];
    for (int i = 0; i < 16; ++i) {
      const unsigned pair = std::to_integer<unsigned>(from[i]);
      factors[i] = static_cast<std::uint8_t>(pair & 15);
      m[i] = static_cast<std::uint8_t>(pair >> 4);
    }
    const float d = f16_at(from + 80);
    for (float& scale : scales) scale = d;
    scale_bytes(m, 16, f16_at(from + 82), 0, mins);
  }
  HWY_INLINE V8 codes(std::size_t j, std::size_t p) const {
    const V8 q = two_bits(at, j, p);
    const V8 once = spread_numbers(factors, j, p);
    // once * q by the bits of q.
    const V8 zero = hn::Zero(D8());
    const V8 low = hn::IfThenElse(hn::TestBit(q, all(1)), once, zero);
    const V8 high = hn::IfThenElse(hn::TestBit(q, all(2)), hn::Add(once, once), zero);
    return hn::Add(low, high);
  }
};

/// (32 - s) * (q - 4) + 128, from 4 to 252, so that 256 elements share -d.
struct Q3_K : Format<256, 110, 32> {
  const std::byte* at;
  alignas(32) float scales[kRuns];
  alignas(16) std::uint8_t factors[16];  // 32 - s
  HWY_INLINE explicit Q3_K(const std::byte* from) : at(from) {
    const std::byte* s = from + 96;
    const std::uint32_t a = little_u32(s);
    const std::uint32_t b = little_u32(s + 4);
    const std::uint32_t c = little_u32(s + 8);
    const std::uint32_t words[4] = {(a & 0x0f0f0f0fU) | (c << 4 & 0x30303030U),
                                    (b & 0x0f0f0f0fU) | (c << 2 & 0x30303030U),
                                    (a >> 4 & 0x0f0f0f0fU) | (c & 0x30303030U),
                                    (b >> 4 & 0x0f0f0f0fU) | (c >> 2 & 0x30303030U)};
    for (std::size_t i = 0; i < 16; ++i) {
      factors[i] = static_cast<std::uint8_t>(32 - (words[i / 4] >> (8 * (i % 4)) & 63U));
    }
    const float d = -f16_at(from + 108);
    for (float& scale : scales) scale = d;
  }
  HWY_INLINE V8 codes(std::size_t j, std::size_t p) const {
    const V8 q = two_bits(at + 32, j, p);
    const int bit = static_cast<int>(2 * j);
    const V8 third = shifted<true>(halves(at, at, p), bit, bit + 1, 1, p);
    const V8 once = spread_numbers(factors, j, p);
    const V8 two = hn::Add(once, once);
    const V8 zero = hn::Zero(D8());
    // Modulo 256: 128 - 4 s, then s for each bit of q.
    const V8 low = hn::IfThenElse(hn::TestBit(q, all(1)), once, zero);
    const V8 mid = hn::IfThenElse(hn::TestBit(q, all(2)), two, zero);
    const V8 high = hn::IfThenElse(hn::TestBit(third, all(1)), zero, hn::Add(two, two));
    return hn::Sub(hn::Add(hn::Add(low, mid), all(128)), high);
  }
};

struct IQ4_XS : Format<256, 136, 32> {
  const std::byte* at;
  alignas(32) float scales[kRuns];
  HWY_INLINE explicit IQ4_XS(const std::byte* from) : at(from + 8) {
    const float d = f16_at(from);
    const unsigned high = little_u16(from + 2);
    std::uint8_t s[8];
    for (std::size_t i = 0; i < 8; ++i) {
      const unsigned low = std::to_integer<unsigned>(from[4 + i / 2]) >> (4 * (i % 2)) & 15U;
      s[i] = static_cast<std::uint8_t>(low | (high >> (2 * i) & 3U) << 4);
    }
    scale_bytes(s, 8, d, 32, scales);
  }
  HWY_INLINE V8 codes(std::size_t j, std::size_t p) const {
    const std::byte* from = at + 32 * j;
    return look_up(kIq4Codes, shifted<false>(twice_each(from, from + 16, p), 0, 4, 15, p));
  }
};

/// A table by element type of what `make` gives for each format, called as make.operator()<F>();
/// empty entries for all other types.
template <class Entry, class Make>
constexpr std::array<Entry, 64> make_code_table(Make make) {
  std::array<Entry, 64> table{};
  const auto at = [&](DType type) -> Entry& { return table[static_cast<std::size_t>(type)]; };
  at(DType::kQ8_0) = make.template operator()<Q8_0>();
  at(DType::kQ4_0) = make.template operator()<Q4_0>();
  at(DType::kQ4_1) = make.template operator()<Q4_1>();
  at(DType::kQ5_0) = make.template operator()<Q5_0>();
  at(DType::kQ5_1) = make.template operator()<Q5_1>();
  at(DType::kMXFP4) = make.template operator()<MXFP4>();
  at(DType::kQ2_K) = make.template operator()<Q2_K>();
  at(DType::kQ3_K) = make.template operator()<Q3_K>();
  at(DType::kQ4_K) = make.template operator()<Q4_K>();
  at(DType::kQ5_K) = make.template operator()<Q5_K>();
  at(DType::kQ6_K) = make.template operator()<Q6_K>();
  at(DType::kIQ4_NL) = make.template operator()<IQ4_NL>();
  at(DType::kIQ4_XS) = make.template operator()<IQ4_XS>();
  return table;
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE::codes
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // SHUNT_CPU_SIMD_CODES_INL_H
