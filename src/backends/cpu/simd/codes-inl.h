// Quantised weights as bytes, for the products with 8-bit activations. A format gives `kGroup`
// elements at a time, as vectors of codes u (one byte each) and a scale s for each run of 32 or 16
// elements.
//   `kMinRun == 0`:  value = s * (u - 128)
//   else:            value = s * u - m, with a minimum m for each such run of elements.
// The codes are chosen so that this is exact: no weight is rounded. Included once for each target.
#if defined(SHUNT_CPU_SIMD_CODES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_CODES_INL_H
#undef SHUNT_CPU_SIMD_CODES_INL_H
#else
#define SHUNT_CPU_SIMD_CODES_INL_H
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/simd/code_parts-inl.h"
#include "hwy/highway.h"

#if HWY_ARCH_X86
#include <immintrin.h>
#endif

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE::codes {

/// The common part of formats.
template <std::size_t Group, std::size_t Bytes, CodeOrder Order, std::size_t Run,
          std::size_t MinRun = 0>
struct Format {
  static constexpr std::size_t kGroup = Group;       ///< elements that are loaded together
  static constexpr std::size_t kGroupBytes = Bytes;  ///< their bytes
  static constexpr CodeOrder kOrder = Order;
  static constexpr std::size_t kRun = Run;  ///< elements that share a scale
  static constexpr std::size_t kRuns = Group / Run;
  static constexpr std::size_t kMinRun = MinRun;  ///< elements that share a minimum; 0: an offset
  static constexpr std::size_t kMinRuns = MinRun == 0 ? 0 : Group / MinRun;
  /// Scales are these times the format's own.
  static constexpr float kUnit = 1;
  /// Whether a group takes enough instructions that its code is there once: see int8_few.cpp.
  static constexpr bool kOneCopy = false;
  static constexpr std::size_t kVectors = Group / kBytes;
  static constexpr std::size_t kPieces = kBytes / 16;
};

/// Types of 32 elements a block, whose scale is the F16 at its start, are loaded 4 blocks at a
/// time.
template <std::size_t BlockBytes, CodeOrder Order, std::size_t MinRun = 0>
struct Blocks : Format<128, 4 * BlockBytes, Order, 32, MinRun> {
  static constexpr std::size_t kBlockBytes = BlockBytes;
  const std::byte* at;
  HWY_INLINE explicit Blocks(const std::byte* from) : at(from) {}

  HWY_INLINE float number(std::size_t block, std::size_t offset) const {
    return f16_at(at + block * kBlockBytes + offset);
  }
  HWY_INLINE V scale(std::size_t v) const {
    constexpr auto run = lane_run<Order, 32>;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
    // Lanes of 16 bits first, then all are converted at once.
    const auto bits = [&](std::size_t lane) {
      return static_cast<short>(little_u16(at + run(v, lane) * kBlockBytes));
    };
    __m256i halves = _mm256_set1_epi16(bits(0));
    if (run(v, 4) != run(v, 0)) halves = _mm256_mask_set1_epi16(halves, 0xfff0, bits(4));
    halves = _mm256_mask_set1_epi16(halves, 0xff00, bits(8));
    if (run(v, 12) != run(v, 8)) halves = _mm256_mask_set1_epi16(halves, 0xf000, bits(12));
    return V{_mm512_maskz_cvtph_ps(0xffff, halves)};
#else
    alignas(16)
        const float all_scales[4] = {number(0, 0), number(1, 0), number(2, 0), number(3, 0)};
    (void)run;
    return spread<Order, 32>(all_scales, v);
#endif
  }
  HWY_INLINE void store_scales(float* to) const {
    for (std::size_t b = 0; b < 4; ++b) to[b] = number(b, 0);
  }
  /// Nibbles at `offset`: those of the lower halves of bytes where v is even.
  HWY_INLINE V8 bytes(std::size_t v, std::size_t offset) const {
    return sixteens(at + v / 2 * (kBytes / 16) * kBlockBytes + offset, kBlockBytes);
  }
  HWY_INLINE V8 nibbles(std::size_t v, std::size_t offset) const {
    return v % 2 == 0 ? hn::And(bytes(v, offset), all(15)) : down<4>(bytes(v, offset), 15);
  }
  /// Of which elements the bit in the 4 bytes at `offset` is set.
  HWY_INLINE hn::Mask<D8> bits(std::size_t v, std::size_t offset) const {
    std::uint16_t of_pieces[kBytes / 16];
    for (std::size_t i = 0; i < kBytes / 16; ++i) {
      const std::size_t block = v / 2 * (kBytes / 16) + i;
      of_pieces[i] = little_u16(at + block * kBlockBytes + offset + v % 2 * 2);
    }
    return bits_as_mask(of_pieces);
  }
};

struct Q8_0 : Blocks<34, CodeOrder::kNatural> {
  static constexpr DType kType = DType::kQ8_0;
  HWY_INLINE explicit Q8_0(const std::byte* from) : Blocks(from) {}
  HWY_INLINE V8 codes(std::size_t v) const {
    const std::byte* block = at + v * kBytes / 32 * kBlockBytes + 2;
    const V8 signed_codes = thirty_twos(block, block + kBlockBytes, v);
    return hn::Xor(signed_codes, all(0x80));
  }
};

/// With the nibbles at the top of bytes: 16 * (q - 8) + 128.
struct Q4_0 : Blocks<18, CodeOrder::kHalves> {
  static constexpr DType kType = DType::kQ4_0;
  HWY_INLINE explicit Q4_0(const std::byte* from) : Blocks(from) {}
  static constexpr float kUnit = 1.0F / 16;
  HWY_INLINE V8 codes(std::size_t v) const {
    return v % 2 == 0 ? up<4>(bytes(v, 2), 0xf0) : hn::And(bytes(v, 2), all(0xf0));
  }
};

/// d * q + m.
template <std::size_t BlockBytes>
struct BlocksWithMins : Blocks<BlockBytes, CodeOrder::kHalves, 32> {
  using Base = Blocks<BlockBytes, CodeOrder::kHalves, 32>;
  HWY_INLINE explicit BlocksWithMins(const std::byte* from) : Base(from) {}
  HWY_INLINE void store_mins(float* to) const {
    for (std::size_t b = 0; b < 4; ++b) to[b] = -this->number(b, 2);
  }
};

struct Q4_1 : BlocksWithMins<20> {
  static constexpr DType kType = DType::kQ4_1;
  HWY_INLINE explicit Q4_1(const std::byte* from) : BlocksWithMins(from) {}
  HWY_INLINE V8 codes(std::size_t v) const { return this->nibbles(v, 4); }
};

struct Q5_0 : Blocks<22, CodeOrder::kHalves> {
  static constexpr DType kType = DType::kQ5_0;
  HWY_INLINE explicit Q5_0(const std::byte* from) : Blocks(from) {}
  HWY_INLINE V8 codes(std::size_t v) const {
    // q - 16 + 128: 112 without the fifth bit, 128 with it.
    return hn::Add(nibbles(v, 6), hn::IfThenElse(bits(v, 2), all(128), all(112)));
  }
};

struct Q5_1 : BlocksWithMins<24> {
  static constexpr DType kType = DType::kQ5_1;
  HWY_INLINE explicit Q5_1(const std::byte* from) : BlocksWithMins(from) {}
  HWY_INLINE V8 codes(std::size_t v) const {
    return hn::Or(this->nibbles(v, 8), hn::IfThenElseZero(this->bits(v, 4), all(16)));
  }
};

/// The levels of the IQ4 formats, each + 128.
HWY_ALIGN inline constexpr std::uint8_t kIq4Codes[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                                         129, 141, 153, 166, 181, 197, 217, 241};

struct IQ4_NL : Blocks<18, CodeOrder::kHalves> {
  static constexpr DType kType = DType::kIQ4_NL;
  HWY_INLINE explicit IQ4_NL(const std::byte* from) : Blocks(from) {}
  HWY_INLINE V8 codes(std::size_t v) const { return look_up(kIq4Codes, nibbles(v, 2)); }
};

/// Twice the numbers of E2M1, each + 128.
HWY_ALIGN inline constexpr std::uint8_t kE2M1Codes[16] = {128, 129, 130, 131, 132, 134, 136, 140,
                                                          128, 127, 126, 125, 124, 122, 120, 116};

struct MXFP4 : Blocks<17, CodeOrder::kHalves> {
  static constexpr DType kType = DType::kMXFP4;
  HWY_INLINE explicit MXFP4(const std::byte* from) : Blocks(from) {}
  /// 2^(e - 128); not-a-number for 255.
  HWY_INLINE float half_power(std::size_t block) const {
    const auto e = std::to_integer<std::uint32_t>(at[block * kBlockBytes]);
    std::uint32_t bits = e >= 2 ? (e - 1) << 23 : 0x200000U << e;
    if (e == 255) bits = 0x7fc00000U;
    float result = 0;
    std::memcpy(&result, &bits, sizeof result);
    return result;
  }
  HWY_INLINE void store_scales(float* to) const {
    for (std::size_t b = 0; b < 4; ++b) to[b] = half_power(b);
  }
  HWY_INLINE V scale(std::size_t v) const {
    alignas(16) float all_scales[4];
    store_scales(all_scales);
    return spread<kOrder, 32>(all_scales, v);
  }
  HWY_INLINE V8 codes(std::size_t v) const { return look_up(kE2M1Codes, nibbles(v, 1)); }
};

HWY_INLINE std::uint64_t join(std::uint32_t low, std::uint32_t high) {
  return std::uint64_t{low} | std::uint64_t{high} << 32;
}

/// Formats of 256 elements with scales of their own for parts, in a ScaleSet.
template <std::size_t Bytes, CodeOrder Order, std::size_t Run, std::size_t MinRun = 0>
struct SuperBlock : Format<256, Bytes, Order, Run, MinRun> {
  ScaleSet<256 / Run> scales;
  HWY_INLINE explicit SuperBlock(const ScaleSet<256 / Run>& set) : scales(set) {}
  HWY_INLINE V scale(std::size_t v) const { return scales.template spread<Order, Run>(v); }
  HWY_INLINE void store_scales(float* to) const { scales.store(to); }
};

/// Q4_K and Q5_K, see tensor/formats/k_blocks.h.
template <std::size_t Bytes>
struct SixBitBlock : SuperBlock<Bytes, CodeOrder::kPairs, 32, 32> {
  ScaleSet<8> mins;
  HWY_INLINE explicit SixBitBlock(const std::byte* from)
      : SixBitBlock(from, little_u32(from + 4), little_u32(from + 8), little_u32(from + 12)) {}
  HWY_INLINE SixBitBlock(const std::byte* from, std::uint32_t a, std::uint32_t b, std::uint32_t c)
      : SuperBlock<Bytes, CodeOrder::kPairs, 32, 32>(ScaleSet<8>(
            small_numbers(join(a & 0x3f3f3f3fU, (c & 0x0f0f0f0fU) | (a >> 2 & 0x30303030U))),
            f16_at(from), 0)),
        mins(small_numbers(join(b & 0x3f3f3f3fU, (c >> 4 & 0x0f0f0f0fU) | (b >> 2 & 0x30303030U))),
             f16_at(from + 2), 0) {}
  HWY_INLINE void store_mins(float* to) const { mins.store(to); }
  /// Nibbles of vector v, from 32 bytes for each 64 elements.
  static HWY_INLINE V8 nibbles(const std::byte* from, std::size_t v) {
    // `kEach` vectors are lower halves, then as many are upper ones.
    constexpr std::size_t kEach = kBytes == 64 ? 1 : 32 / kBytes;
    const V8 both = load(from + v / (2 * kEach) * (kEach * kBytes) + v % kEach * kBytes);
    return v / kEach % 2 == 0 ? hn::And(both, all(15)) : down<4>(both, 15);
  }
};

struct Q4_K : SixBitBlock<144> {
  static constexpr DType kType = DType::kQ4_K;
  const std::byte* at;
  HWY_INLINE explicit Q4_K(const std::byte* from) : SixBitBlock(from), at(from + 16) {}
  HWY_INLINE V8 codes(std::size_t v) const { return this->nibbles(at, v); }
};

struct Q5_K : SixBitBlock<176> {
  static constexpr DType kType = DType::kQ5_K;
  const std::byte* at;
  HWY_INLINE explicit Q5_K(const std::byte* from) : SixBitBlock(from), at(from + 16) {}
  HWY_INLINE V8 codes(std::size_t v) const {
    const V8 low = this->nibbles(at + 32, v);
    const V8 planes = thirty_twos(at, at, v);
    // Block b has bit b.
    alignas(64) static constexpr auto kBit =
        by_vector<std::uint8_t, kBytes>([](std::size_t vector, std::size_t i) {
          return 1U << sixteen_at(kOrder, vector * kPieces + i / 16) / 2;
        });
    const auto fifth = hn::TestBit(planes, hn::Load(D8(), kBit[v].data()));
    return hn::Or(low, hn::IfThenElseZero(fifth, all(16)));
  }
};

/// 4 * (q - 32) + 128.
struct Q6_K : SuperBlock<210, CodeOrder::kNatural, 16> {
  static constexpr DType kType = DType::kQ6_K;
  static constexpr float kUnit = 1.0F / 4;
  const std::byte* at;
  HWY_INLINE explicit Q6_K(const std::byte* from)
      : SuperBlock(ScaleSet<16>(hn::LoadU(hn::CappedTag<std::int8_t, 16>(),
                                          reinterpret_cast<const std::int8_t*>(from + 192)),
                                f16_at(from + 208), 0)),
        at(from) {}
  HWY_INLINE V8 codes(std::size_t v) const {
    const std::size_t first = v * kBytes;  // element
    const V8 low = load(at + first / 128 * 64 + first % 64);
    const V8 nibbles = first % 128 >= 64 ? down<2>(low, 0x3c) : up<2>(low, 0x3c);
    const std::byte* highs = at + 128 + first / 128 * 32;
    const V8 planes = thirty_twos(highs, highs, v);
    // The two bits of each byte go to the top.
    const hn::Repartition<std::uint32_t, D8> d32;
    alignas(64) static constexpr auto kBy =
        by_vector<std::uint32_t, kLanes>([](std::size_t vector, std::size_t lane) {
          return 6 - (vector * kBytes + 4 * lane) % 128 / 32 * 2;
        });
    const auto by = hn::Load(d32, kBy[v].data());
    const V8 high = hn::BitCast(D8(), hn::Shl(hn::BitCast(d32, planes), by));
    return hn::Or(nibbles, hn::And(high, all(0xc0)));
  }
};

/// 2 bits of each element of vector v, in planes: a byte has those of elements i, i + 32, i + 64
/// and i + 96 of 128. Unmasked.
HWY_INLINE V8 two_bits(const std::byte* at, std::size_t v) {
  constexpr std::size_t kPlane = kBytes == 64 ? 64 : 32;
  const std::size_t plane = v * kBytes / kPlane;
  const V8 four = load(at + plane / 4 * 32 + v * kBytes % kPlane);
  switch (plane % 4) {
    case 0:
      return hn::And(four, all(3));
    case 1:
      return down<2>(four, 3);
    case 2:
      return down<4>(four, 3);
    default:
      return down<6>(four, 3);
  }
}

/// For each 16 bytes of vector v, the one of 16 `numbers` (again in each 16 bytes) for its
/// elements.
template <CodeOrder Order>
HWY_INLINE V8 spread_numbers(V8 numbers, std::size_t v) {
  alignas(64) static constexpr auto kWhich =
      by_vector<std::uint8_t, kBytes>([](std::size_t vector, std::size_t i) {
        return sixteen_at(Order, vector * (kBytes / 16) + i / 16);
      });
  return hn::TableLookupBytes(numbers, hn::Load(D8(), kWhich[v].data()));
}

/// The product of a part's scale and its 2-bit numbers, at most 45, so that 256 elements share d.
struct Q2_K : Format<256, 84, CodeOrder::kQuarters, 32, 16> {
  static constexpr DType kType = DType::kQ2_K;
  const std::byte* at;
  float d;
  V8 pairs;  // a scale in the lower half, a minimum in the upper
  HWY_INLINE explicit Q2_K(const std::byte* from)
      : at(from + 16),
        d(f16_at(from + 80)),
        pairs(hn::LoadDup128(D8(), reinterpret_cast<const std::uint8_t*>(from))) {}
  HWY_INLINE V scale(std::size_t) const { return hn::Set(D(), d); }
  HWY_INLINE void store_scales(float* to) const { std::fill_n(to, kRuns, d); }
  HWY_INLINE void store_mins(float* to) const {
    const hn::CappedTag<std::uint8_t, 16> d16;
    const auto once = hn::LoadU(d16, reinterpret_cast<const std::uint8_t*>(at - 16));
    const hn::Repartition<std::uint16_t, decltype(d16)> wide;
    const auto upper = hn::BitCast(d16, hn::ShiftRight<4>(hn::BitCast(wide, once)));
    ScaleSet<16>(hn::And(upper, hn::Set(d16, 15)), f16_at(at + 66), 0).store(to);
  }
  HWY_INLINE V8 codes(std::size_t v) const {
    const V8 q = two_bits(at, v);
    const V8 once = spread_numbers<kOrder>(hn::And(pairs, all(15)), v);
    // once * q by the bits of q.
    return hn::Add(hn::IfThenElseZero(hn::TestBit(q, all(1)), once),
                   hn::IfThenElseZero(hn::TestBit(q, all(2)), hn::Add(once, once)));
  }
};

/// (32 - s) * (q - 4) + 128, from 4 to 252, so that 256 elements share -d.
struct Q3_K : Format<256, 110, CodeOrder::kQuarters, 32> {
  static constexpr DType kType = DType::kQ3_K;
  const std::byte* at;
  float d;
  V8 factors;  // 32 - s, again in each 16 bytes
  HWY_INLINE explicit Q3_K(const std::byte* from)
      : Q3_K(from, little_u32(from + 96), little_u32(from + 100), little_u32(from + 104)) {}
  HWY_INLINE V scale(std::size_t) const { return hn::Set(D(), d); }
  HWY_INLINE void store_scales(float* to) const { std::fill_n(to, kRuns, d); }
  HWY_INLINE V8 codes(std::size_t v) const {
    const V8 q = two_bits(at + 32, v);
    alignas(64) static constexpr auto kBit =
        by_vector<std::uint8_t, kBytes>([](std::size_t vector, std::size_t i) {
          return 1U << sixteen_at(kOrder, vector * kPieces + i / 16) / 2;
        });
    const auto third = hn::TestBit(thirty_twos(at, at, v), hn::Load(D8(), kBit[v].data()));
    const V8 once = spread_numbers<kOrder>(factors, v);
    const V8 two = hn::Add(once, once);
    // Modulo 256: 128 - 4 s, then s for each bit of q.
    const V8 low = hn::IfThenElseZero(hn::TestBit(q, all(1)), once);
    const V8 mid = hn::IfThenElseZero(hn::TestBit(q, all(2)), two);
    const V8 less = hn::IfThenZeroElse(third, hn::Add(two, two));
    return hn::Sub(hn::Add(hn::Add(low, mid), all(128)), less);
  }

 private:
  HWY_INLINE Q3_K(const std::byte* from, std::uint32_t a, std::uint32_t b, std::uint32_t c)
      : at(from),
        d(-f16_at(from + 108)),
        factors(small_numbers_again(
            less(join((a & kLow) | (c << 4 & kHigh), (b & kLow) | (c << 2 & kHigh))),
            less(join((a >> 4 & kLow) | (c & kHigh), (b >> 4 & kLow) | (c >> 2 & kHigh))))) {}
  /// 32 - s for each byte s from 0 to 63, which keeps to itself in 0xa0 - s; then modulo 256.
  static HWY_INLINE std::uint64_t less(std::uint64_t s) {
    return (0xa0a0a0a0a0a0a0a0U - s) ^ 0x8080808080808080U;
  }
  static constexpr std::uint32_t kLow = 0x0f0f0f0fU;
  static constexpr std::uint32_t kHigh = 0x30303030U;
};

struct IQ4_XS : SuperBlock<136, CodeOrder::kHalves, 32> {
  static constexpr DType kType = DType::kIQ4_XS;
  const std::byte* at;
  HWY_INLINE explicit IQ4_XS(const std::byte* from)
      : SuperBlock(ScaleSet<8>(small_numbers(numbers(from)), f16_at(from), 32)), at(from + 8) {}
  HWY_INLINE V8 codes(std::size_t v) const {
    const V8 both = load(at + v / 2 * kBytes);
    return look_up(kIq4Codes, hn::And(v % 2 == 0 ? both : down<4>(both, 15), all(15)));
  }

 private:
  static HWY_INLINE std::uint64_t numbers(const std::byte* from) {
    const std::uint64_t high = little_u16(from + 2);
    const std::uint64_t low = little_u32(from + 4);
    std::uint64_t all_numbers = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      all_numbers |= ((low >> (4 * i) & 15) | (high >> (2 * i) & 3) << 4) << (8 * i);
    }
    return all_numbers;
  }
};

}  // namespace shunt::cpu::simd::HWY_NAMESPACE::codes
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // SHUNT_CPU_SIMD_CODES_INL_H
