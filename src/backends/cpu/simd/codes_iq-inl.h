// Codes of the formats whose weights are vectors of a codebook: IQ1 to IQ3. Included once for each
// target.
#if defined(SHUNT_CPU_SIMD_CODES_IQ_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_CODES_IQ_INL_H
#undef SHUNT_CPU_SIMD_CODES_IQ_INL_H
#else
#define SHUNT_CPU_SIMD_CODES_IQ_INL_H
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/simd/codes-inl.h"
#include "backends/cpu/simd/iq_tables.h"
#include "hwy/highway.h"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE::codes {

// ---- small numbers

HWY_INLINE Small<16> small_numbers(std::uint64_t low, std::uint64_t high) {
  const hn::CappedTag<std::uint8_t, 16> d;
  return hn::Combine(d, small_numbers(high), small_numbers(low));
}
/// The 16 nibbles of a word, the lowest first.
HWY_INLINE Small<16> small_nibbles(std::uint64_t word) {
  const hn::CappedTag<std::uint8_t, 16> d;
  constexpr std::uint64_t kLow = 0x0f0f0f0f0f0f0f0f;
  return hn::InterleaveLower(d, hn::Combine(d, small_numbers(0), small_numbers(word & kLow)),
                             hn::Combine(d, small_numbers(0), small_numbers(word >> 4 & kLow)));
}
/// The 8 nibbles of a word as its bytes.
HWY_INLINE std::uint64_t nibbles_as_bytes(std::uint32_t nibbles) {
  std::uint64_t word = nibbles;
  word = (word | word << 16) & 0x0000ffff0000ffff;
  word = (word | word << 8) & 0x00ff00ff00ff00ff;
  return (word | word << 4) & 0x0f0f0f0f0f0f0f0f;
}

// ---- signs

/// Of which elements of a group the sign is negative.
template <CodeOrder Order>
struct Signs {
#if HWY_TARGET == HWY_AVX3_DL
  alignas(32) std::uint64_t words[4];  ///< in the order of codes
  HWY_INLINE explicit Signs(__m256i natural) {
    alignas(32) static constexpr auto kSixteen = [] {
      std::array<std::uint16_t, 16> at{};
      for (std::size_t i = 0; i < 16; ++i) at[i] = static_cast<std::uint16_t>(sixteen_at(Order, i));
      return at;
    }();
    if constexpr (Order != CodeOrder::kNatural) {
      natural = _mm256_permutexvar_epi16(
          _mm256_load_si256(reinterpret_cast<const __m256i*>(kSixteen.data())), natural);
    }
    _mm256_store_si256(reinterpret_cast<__m256i*>(words), natural);
  }
  HWY_INLINE explicit Signs(const std::byte* from)
      : Signs(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))) {}
  /// Vector v of codes of magnitudes, with their signs: 256 - u where negative.
  HWY_INLINE V8 put(V8 codes, std::size_t v) const {
    return V8{_mm512_mask_sub_epi8(codes.raw, words[v], _mm512_setzero_si512(), codes.raw)};
  }
#else
  std::uint64_t words[4];  ///< bit i of word w is element 64 * w + i
  HWY_INLINE Signs() = default;
  HWY_INLINE explicit Signs(const std::byte* from)
      : words{little<std::uint64_t>(from), little<std::uint64_t>(from + 8),
              little<std::uint64_t>(from + 16), little<std::uint64_t>(from + 24)} {}
  HWY_INLINE V8 put(V8 codes, std::size_t v) const {
    std::uint16_t bits[kBytes / 16];
    for (std::size_t i = 0; i < kBytes / 16; ++i) {
      const std::size_t sixteen = sixteen_at(Order, v * (kBytes / 16) + i);
      bits[i] = static_cast<std::uint16_t>(words[sixteen / 4] >> (16 * (sixteen % 4)));
    }
    return hn::IfThenElse(bits_as_mask(bits), hn::Sub(hn::Zero(D8()), codes), codes);
  }
#endif
};

// ---- codebooks in memory: see CodeTable

/// The entries of a table at indices number `first` on, `Bytes` in all.
template <std::size_t Bytes, std::size_t Count, std::size_t Size, class Format>
HWY_INLINE hn::Vec<hn::CappedTag<std::uint8_t, Bytes>> entries(const CodeTable<Count, Size>& table,
                                                               const Format& format,
                                                               std::size_t first) {
  const hn::CappedTag<std::uint8_t, Bytes> d;
  if constexpr (Bytes == Size) {
    return hn::LoadU(d, table.at[format.index(first)]);
  } else {
    return hn::Combine(d, entries<Bytes / 2>(table, format, first + Bytes / 2 / Size),
                       entries<Bytes / 2>(table, format, first));
  }
}
/// Codes of a format whose vector i of the codebook is number format.index(i): those from 16 codes
/// number `piece` on.
template <std::size_t Bytes, std::size_t Count, std::size_t Size, class Format>
HWY_INLINE hn::Vec<hn::CappedTag<std::uint8_t, Bytes>> vectors_at(
    const CodeTable<Count, Size>& table, const Format& format, std::size_t piece) {
  const hn::CappedTag<std::uint8_t, Bytes> d;
  if constexpr (Bytes == 16) {
    return entries<16>(table, format, sixteen_at(Format::kOrder, piece) * 16 / Size);
  } else {
    return hn::Combine(d, vectors_at<Bytes / 2>(table, format, piece + Bytes / 32),
                       vectors_at<Bytes / 2>(table, format, piece));
  }
}

#if HWY_TARGET == HWY_AVX3_DL

// ---- codebooks in registers: see PackedTable

/// The words of a table, for 32 indices of 16 bits.
template <std::size_t Count>
HWY_INLINE __m512i look_up_words(const std::uint16_t* table, __m512i index) {
  if constexpr (Count == 64) {
    return _mm512_permutex2var_epi16(_mm512_load_si512(table), index,
                                     _mm512_load_si512(table + 32));
  } else {
    const __mmask32 upper = _mm512_test_epi16_mask(index, _mm512_set1_epi16(Count / 2));
    return _mm512_mask_blend_epi16(upper, look_up_words<Count / 2>(table, index),
                                   look_up_words<Count / 2>(table + Count / 2, index));
  }
}
/// 256 bytes, for 64 indices.
HWY_INLINE __m512i look_up_bytes(const std::uint8_t* table, __m512i index) {
  const auto half = [&](const std::uint8_t* from) HWY_ATTR {
    return _mm512_permutex2var_epi8(_mm512_load_si512(from), index, _mm512_load_si512(from + 64));
  };
  return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), half(table), half(table + 128));
}
/// The codes of elements in 16 bits of each 64, `Bits` for each; `codes`: those of their levels.
template <int Bits>
HWY_INLINE V8 unpacked(__m512i packed, const std::array<std::uint8_t, 64>& codes) {
  const __m512i at = _mm512_set1_epi64(Bits == 2 ? 0x0e0c0a0806040200 : 0x1c1814100c080400);
  return V8{_mm512_permutexvar_epi8(_mm512_multishift_epi64_epi8(at, packed),
                                    _mm512_load_si512(codes.data()))};
}
/// 7 bits of signs in each byte of `bits`, and an eighth that makes their number even.
HWY_INLINE __m512i with_eighth(__m512i bits) {
  const __m512i odd = _mm512_slli_epi16(_mm512_popcnt_epi8(bits), 7);
  return _mm512_or_si512(bits, _mm512_and_si512(odd, _mm512_set1_epi8(-128)));
}
/// 4 times 7 bits of signs, then 4 bits of scale, at the bottom of 64-bit lanes.
HWY_INLINE __m256i signs_of_parts(__m512i parts) {
  const __m512i sevens = _mm512_and_si512(
      _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x150e0700), parts), _mm512_set1_epi8(127));
  return _mm512_cvtepi64_epi32(with_eighth(sevens));
}
HWY_INLINE Small<8> scales_of_parts(__m512i parts) {
  return Small<8>{_mm512_cvtepi64_epi8(_mm512_srli_epi64(parts, 28))};
}

/// 32 vectors of 8 elements.
template <CodeOrder Order>
struct Eights {
  __m512i words;
  template <std::size_t Count>
  HWY_INLINE Eights(const PackedTable<Count>& table, __m512i index)
      : words(look_up_words<Count>(table.words, index)) {}
  HWY_INLINE V8 codes(std::size_t v) const {
    alignas(64) static constexpr auto kWord =
        by_vector<std::uint16_t, 32>([](std::size_t vector, std::size_t i) {
          return sixteen_at(Order, vector * 4 + i / 8) * 2 + i / 4 % 2;
        });
    return unpacked<2>(_mm512_permutexvar_epi16(_mm512_load_si512(kWord[v].data()), words),
                       kIq2LevelCodes);
  }
};

/// 64 vectors of 4 elements, from indices of 8 bits and, of 512, the ninth bits.
template <CodeOrder Order>
struct Fours {
  __m512i low;
  __m512i high;
  HWY_INLINE Fours(const PackedTable<256>& table, __m512i index)
      : low(look_up_bytes(table.low, index)), high(look_up_bytes(table.high, index)) {}
  HWY_INLINE Fours(const PackedTable<512>& table, __m512i index, __mmask64 ninth)
      : low(_mm512_mask_blend_epi8(ninth, look_up_bytes(table.low, index),
                                   look_up_bytes(table.low + 256, index))),
        high(_mm512_mask_blend_epi8(ninth, look_up_bytes(table.high, index),
                                    look_up_bytes(table.high + 256, index))) {}
  HWY_INLINE V8 codes(std::size_t v, const std::array<std::uint8_t, 64>& level_codes) const {
    // 2 vectors for each 8 elements, low and high bytes by turns.
    alignas(64) static constexpr auto kByte = by_vector<std::uint8_t, 64>([](std::size_t vector,
                                                                             std::size_t i) {
      return sixteen_at(Order, vector * 4 + i / 16) * 4 + i / 8 % 2 * 2 + i % 4 / 2 + i % 2 * 64;
    });
    return unpacked<4>(_mm512_permutex2var_epi8(low, _mm512_load_si512(kByte[v].data()), high),
                       level_codes);
  }
};

struct IQ2_XXS : SuperBlock<66, CodeOrder::kHalves, 32> {
  static constexpr DType kType = DType::kIQ2_XXS;
  static constexpr float kUnit = 1.0F / 4;
  Eights<kOrder> eights;
  Signs<kOrder> signs;
  HWY_INLINE explicit IQ2_XXS(const std::byte* from)
      : IQ2_XXS(from, load(from + 2).raw, _mm512_srli_epi64(load(from + 2).raw, 32)) {}
  HWY_INLINE V8 codes(std::size_t v) const { return signs.put(eights.codes(v), v); }

 private:
  HWY_INLINE IQ2_XXS(const std::byte* from, __m512i whole, __m512i parts)
      : SuperBlock(ScaleSet<8>(scales_of_parts(parts), f16_at(from), -0.5F)),
        eights(kIq2XxsPacked, indices(whole)),
        signs(signs_of_parts(parts)) {}
  /// The lower 4 of each 8 bytes.
  static HWY_INLINE __m512i indices(__m512i whole) {
    alignas(64) static constexpr auto kByte = by_vector<std::uint8_t, 64>(
        [](std::size_t, std::size_t i) { return i / 8 * 8 + i % 8 / 2; });
    return _mm512_maskz_permutexvar_epi8(0x5555555555555555, _mm512_load_si512(kByte[0].data()),
                                         whole);
  }
};

struct IQ2_XS : SuperBlock<74, CodeOrder::kNatural, 16> {
  static constexpr DType kType = DType::kIQ2_XS;
  static constexpr float kUnit = 1.0F / 4;
  Eights<kOrder> eights;
  Signs<kOrder> signs;
  HWY_INLINE explicit IQ2_XS(const std::byte* from)
      : SuperBlock(
            ScaleSet<16>(small_nibbles(little<std::uint64_t>(from + 66)), f16_at(from), -0.5F)),
        eights(kIq2XsPacked, _mm512_and_si512(load(from + 2).raw, _mm512_set1_epi16(511))),
        signs(_mm512_cvtepi16_epi8(with_eighth(_mm512_srli_epi16(load(from + 2).raw, 9)))) {}
  HWY_INLINE V8 codes(std::size_t v) const { return signs.put(eights.codes(v), v); }
};

struct IQ2_S : SuperBlock<82, CodeOrder::kNatural, 16> {
  static constexpr DType kType = DType::kIQ2_S;
  static constexpr float kUnit = 1.0F / 4;
  Eights<kOrder> eights;
  Signs<kOrder> signs;
  HWY_INLINE explicit IQ2_S(const std::byte* from)
      : SuperBlock(
            ScaleSet<16>(small_nibbles(little<std::uint64_t>(from + 74)), f16_at(from), -0.5F)),
        eights(kIq2SPacked, indices(from)),
        signs(from + 34) {}
  HWY_INLINE V8 codes(std::size_t v) const { return signs.put(eights.codes(v), v); }

 private:
  static HWY_INLINE __m512i indices(const std::byte* from) {
    const __m512i low =
        _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 2)));
    // Bits 2 i and 2 i + 1 go to the second byte of index i.
    alignas(64) static constexpr auto kBit =
        by_vector<std::uint8_t, 64>([](std::size_t, std::size_t i) { return i / 2 * 2; });
    const __m512i high = _mm512_multishift_epi64_epi8(
        _mm512_load_si512(kBit[0].data()),
        _mm512_set1_epi64(static_cast<long long>(little<std::uint64_t>(from + 66))));
    return _mm512_or_si512(low, _mm512_and_si512(high, _mm512_set1_epi16(0x300)));
  }
};

struct IQ3_XXS : SuperBlock<98, CodeOrder::kHalves, 32> {
  static constexpr DType kType = DType::kIQ3_XXS;
  static constexpr float kUnit = 1.0F / 2;
  Fours<kOrder> fours;
  Signs<kOrder> signs;
  HWY_INLINE explicit IQ3_XXS(const std::byte* from)
      : IQ3_XXS(from, _mm512_cvtepu32_epi64(
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 66)))) {}
  HWY_INLINE V8 codes(std::size_t v) const {
    return signs.put(fours.codes(v, kIq3XxsLevelCodes), v);
  }

 private:
  HWY_INLINE IQ3_XXS(const std::byte* from, __m512i parts)
      : SuperBlock(ScaleSet<8>(scales_of_parts(parts), f16_at(from), -0.5F)),
        fours(kIq3XxsPacked, load(from + 2).raw),
        signs(signs_of_parts(parts)) {}
};

struct IQ3_S : SuperBlock<110, CodeOrder::kHalves, 32> {
  static constexpr DType kType = DType::kIQ3_S;
  static constexpr float kUnit = 2;
  Fours<kOrder> fours;
  Signs<kOrder> signs;
  HWY_INLINE explicit IQ3_S(const std::byte* from)
      : SuperBlock(ScaleSet<8>(small_numbers(nibbles_as_bytes(little_u32(from + 106))),
                               f16_at(from), -0.5F)),
        fours(kIq3SPacked, load(from + 2).raw, little<std::uint64_t>(from + 66)),
        signs(from + 74) {}
  HWY_INLINE V8 codes(std::size_t v) const { return signs.put(fours.codes(v, kIq3SLevelCodes), v); }
};

#else

// ---- the same without such instructions

/// 4 times 7 bits of signs, at the bottom, as bytes whose eighth bit makes their number even.
HWY_INLINE std::uint32_t even_sign_bytes(std::uint32_t bits) {
  const std::uint32_t sevens =
      (bits & 0x7fU) | (bits << 1 & 0x7f00U) | (bits << 2 & 0x7f0000U) | (bits << 3 & 0x7f000000U);
  std::uint32_t odd = sevens ^ sevens >> 4;
  odd ^= odd >> 2;
  odd ^= odd >> 1;
  return sevens | (odd & 0x01010101U) << 7;
}
/// Such bits, and 4 of scale on top, for 8 parts of 32 elements, `Stride` bytes apart.
template <CodeOrder Order, std::size_t Stride>
struct EvenParts {
  HWY_INLINE static Signs<Order> signs(const std::byte* from) {
    Signs<Order> signs;
    for (std::size_t i = 0; i < 4; ++i) {
      signs.words[i] = join(even_sign_bytes(little_u32(from + 2 * i * Stride)),
                            even_sign_bytes(little_u32(from + (2 * i + 1) * Stride)));
    }
    return signs;
  }
  HWY_INLINE static Small<8> scales(const std::byte* from) {
    std::uint64_t numbers = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      numbers |= std::uint64_t{little_u32(from + i * Stride) >> 28} << (8 * i);
    }
    return small_numbers(numbers);
  }
};

struct IQ2_XXS : SuperBlock<66, CodeOrder::kHalves, 32> {
  static constexpr DType kType = DType::kIQ2_XXS;
  static constexpr bool kOneCopy = true;
  static constexpr float kUnit = 1.0F / 4;
  const std::byte* at;
  Signs<kOrder> signs;
  HWY_INLINE explicit IQ2_XXS(const std::byte* from)
      : SuperBlock(ScaleSet<8>(EvenParts<kOrder, 8>::scales(from + 6), f16_at(from), -0.5F)),
        at(from + 2),
        signs(EvenParts<kOrder, 8>::signs(from + 6)) {}
  HWY_INLINE std::size_t index(std::size_t i) const {
    return std::to_integer<std::size_t>(at[i / 4 * 8 + i % 4]);
  }
  HWY_INLINE V8 codes(std::size_t v) const {
    return signs.put(vectors_at<kBytes>(kIq2XxsCodes, *this, v * kPieces), v);
  }
};

struct IQ2_XS : SuperBlock<74, CodeOrder::kNatural, 16> {
  static constexpr DType kType = DType::kIQ2_XS;
  static constexpr bool kOneCopy = true;
  static constexpr float kUnit = 1.0F / 4;
  const std::byte* at;
  Signs<kOrder> signs;
  HWY_INLINE explicit IQ2_XS(const std::byte* from)
      : SuperBlock(
            ScaleSet<16>(small_nibbles(little<std::uint64_t>(from + 66)), f16_at(from), -0.5F)),
        at(from + 2) {
    for (std::size_t i = 0; i < 4; ++i)
      signs.words[i] = join(four_signs(2 * i), four_signs(2 * i + 1));
  }
  HWY_INLINE std::size_t index(std::size_t i) const { return little_u16(at + 2 * i) & 511U; }
  HWY_INLINE V8 codes(std::size_t v) const {
    return signs.put(vectors_at<kBytes>(kIq2XsCodes, *this, v * kPieces), v);
  }

 private:
  /// Of vectors 4 n to 4 n + 3.
  HWY_INLINE std::uint32_t four_signs(std::size_t n) const {
    const auto word = little<std::uint64_t>(at + 8 * n);
    return even_sign_bytes(static_cast<std::uint32_t>((word >> 9 & 0x7fU) | (word >> 18 & 0x3f80U) |
                                                      (word >> 27 & 0x1fc000U) |
                                                      (word >> 36 & 0xfe00000U)));
  }
};

struct IQ2_S : SuperBlock<82, CodeOrder::kNatural, 16> {
  static constexpr DType kType = DType::kIQ2_S;
  static constexpr bool kOneCopy = true;
  static constexpr float kUnit = 1.0F / 4;
  const std::byte* at;
  Signs<kOrder> signs;
  HWY_INLINE explicit IQ2_S(const std::byte* from)
      : SuperBlock(
            ScaleSet<16>(small_nibbles(little<std::uint64_t>(from + 74)), f16_at(from), -0.5F)),
        at(from + 2),
        signs(from + 34) {}
  HWY_INLINE std::size_t index(std::size_t i) const {
    const auto high = std::to_integer<std::size_t>(at[64 + i / 4]) >> (2 * (i % 4)) & 3U;
    return std::to_integer<std::size_t>(at[i]) | high << 8;
  }
  HWY_INLINE V8 codes(std::size_t v) const {
    return signs.put(vectors_at<kBytes>(kIq2SCodes, *this, v * kPieces), v);
  }
};

struct IQ3_XXS : SuperBlock<98, CodeOrder::kHalves, 32> {
  static constexpr DType kType = DType::kIQ3_XXS;
  static constexpr bool kOneCopy = true;
  static constexpr float kUnit = 1.0F / 2;
  const std::byte* at;
  Signs<kOrder> signs;
  HWY_INLINE explicit IQ3_XXS(const std::byte* from)
      : SuperBlock(ScaleSet<8>(EvenParts<kOrder, 4>::scales(from + 66), f16_at(from), -0.5F)),
        at(from + 2),
        signs(EvenParts<kOrder, 4>::signs(from + 66)) {}
  HWY_INLINE std::size_t index(std::size_t i) const { return std::to_integer<std::size_t>(at[i]); }
  HWY_INLINE V8 codes(std::size_t v) const {
    return signs.put(vectors_at<kBytes>(kIq3XxsCodes, *this, v * kPieces), v);
  }
};

struct IQ3_S : SuperBlock<110, CodeOrder::kHalves, 32> {
  static constexpr DType kType = DType::kIQ3_S;
  static constexpr bool kOneCopy = true;
  static constexpr float kUnit = 2;
  const std::byte* at;
  Signs<kOrder> signs;
  HWY_INLINE explicit IQ3_S(const std::byte* from)
      : SuperBlock(ScaleSet<8>(small_numbers(nibbles_as_bytes(little_u32(from + 106))),
                               f16_at(from), -0.5F)),
        at(from + 2),
        signs(from + 74) {}
  HWY_INLINE std::size_t index(std::size_t i) const {
    const auto ninth = std::to_integer<std::size_t>(at[64 + i / 8]) >> (i % 8) & 1U;
    return std::to_integer<std::size_t>(at[i]) | ninth << 8;
  }
  HWY_INLINE V8 codes(std::size_t v) const {
    return signs.put(vectors_at<kBytes>(kIq3SCodes, *this, v * kPieces), v);
  }
};

#endif  // HWY_TARGET == HWY_AVX3_DL

// ---- IQ1: 8 * (vector + shift), so that elements are whole numbers

HWY_INLINE Small<8> iq1_s_scales(const std::byte* from) {
  std::uint32_t fours[2];
  for (std::size_t i = 0; i < 2; ++i) {
    std::uint64_t numbers = little<std::uint64_t>(from + 8 * i) >> 12 & 0x0007000700070007;
    numbers = (numbers | numbers >> 8) & 0x0000ffff0000ffff;
    fours[i] = static_cast<std::uint32_t>(numbers | numbers >> 16);
  }
  return small_numbers(join(fours[0], fours[1]));
}
HWY_INLINE Small<16> iq1_m_scales(const std::byte* from) {
  std::uint32_t fours[4];
  for (std::size_t i = 0; i < 4; ++i) {
    const std::uint32_t word = little_u16(from + 2 * i);
    fours[i] =
        (word & 7U) | (word << 5 & 0x700U) | (word << 10 & 0x70000U) | (word << 15 & 0x7000000U);
  }
  return small_numbers(join(fours[0], fours[1]), join(fours[2], fours[3]));
}
/// Its bits are on top of the 4 words of scales.
HWY_INLINE float iq1_m_block_scale(const std::byte* from) {
  const auto words = little<std::uint64_t>(from);
  return f16_value(static_cast<std::uint16_t>((words >> 12 & 0xfU) | (words >> 24 & 0xf0U) |
                                              (words >> 36 & 0xf00U) | (words >> 48 & 0xf000U)));
}

#if HWY_TARGET == HWY_AVX3_DL

/// 32 vectors of 8 elements. The lower 8 bits of their indices are in `low`. For each 4 vectors, 16
/// bits of `high` have the upper 3 bits of the indices and the signs of the shifts. `bits` has
/// their positions: for each vector that of a byte with the sign in bit 7, then that of the upper 3
/// bits.
template <CodeOrder Order>
struct ShiftedEights {
  static constexpr CodeOrder kOrder = Order;
  alignas(64) std::uint16_t indices[32];
  __mmask32 negative;  ///< in the order of codes
  HWY_INLINE ShiftedEights(const std::byte* low, const std::byte* high, long long bits) {
    const __m512i lanes =
        _mm512_cvtepu16_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(high)));
    const __m512i x = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(bits), lanes);
    const __m512i lows =
        _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(low)));
    _mm512_store_si512(indices,
                       _mm512_or_si512(lows, _mm512_and_si512(x, _mm512_set1_epi16(0x700))));
    alignas(64) static constexpr auto kEight = by_vector<std::uint16_t, 32>(
        [](std::size_t, std::size_t i) { return sixteen_at(Order, i / 2) * 2 + i % 2; });
    negative = _mm512_movepi16_mask(
        _mm512_slli_epi16(_mm512_permutexvar_epi16(_mm512_load_si512(kEight[0].data()), x), 8));
  }
  HWY_INLINE std::size_t index(std::size_t i) const { return indices[i]; }
  HWY_INLINE V8 codes(std::size_t v) const {
    const __m512i twos =
        _mm512_maskz_set1_epi64(static_cast<__mmask8>(negative >> (8 * v)), 0x0202020202020202);
    return V8{_mm512_sub_epi8(vectors_at<kBytes>(kIq1Codes, *this, v * 4).raw, twos)};
  }
};

struct IQ1_S : SuperBlock<50, CodeOrder::kHalves, 32> {
  static constexpr DType kType = DType::kIQ1_S;
  static constexpr float kUnit = 1.0F / 4;
  ShiftedEights<kOrder> eights;
  HWY_INLINE explicit IQ1_S(const std::byte* from)
      : SuperBlock(ScaleSet<8>(iq1_s_scales(from + 34), f16_at(from), -0.5F)),
        eights(from + 2, from + 34, 0x0908060803080008) {}
  HWY_INLINE V8 codes(std::size_t v) const { return eights.codes(v); }
};

struct IQ1_M : SuperBlock<56, CodeOrder::kNatural, 16> {
  static constexpr DType kType = DType::kIQ1_M;
  static constexpr float kUnit = 1.0F / 4;
  ShiftedEights<kOrder> eights;
  HWY_INLINE explicit IQ1_M(const std::byte* from)
      : SuperBlock(ScaleSet<16>(iq1_m_scales(from + 48), iq1_m_block_scale(from + 48), -0.5F)),
        eights(from, from + 32, 0x0c0808040400003c) {}
  HWY_INLINE V8 codes(std::size_t v) const { return eights.codes(v); }
};

#else

struct IQ1_S : SuperBlock<50, CodeOrder::kHalves, 32> {
  static constexpr DType kType = DType::kIQ1_S;
  static constexpr bool kOneCopy = true;
  static constexpr float kUnit = 1.0F / 4;
  const std::byte* at;
  HWY_INLINE explicit IQ1_S(const std::byte* from)
      : SuperBlock(ScaleSet<8>(iq1_s_scales(from + 34), f16_at(from), -0.5F)), at(from + 2) {}
  HWY_INLINE std::size_t index(std::size_t i) const {
    const auto high = bits_of(i / 4) >> (3 * (i % 4)) & 7U;
    return std::to_integer<std::size_t>(at[i]) | high << 8;
  }
  HWY_INLINE V8 codes(std::size_t v) const {
    std::uint16_t negative[kPieces];
    for (std::size_t i = 0; i < kPieces; ++i) {
      const std::size_t part = sixteen_at(kOrder, v * kPieces + i) / 2;
      negative[i] = static_cast<std::uint16_t>((bits_of(part) >> 15) * 0xffffU);
    }
    return hn::Sub(vectors_at<kBytes>(kIq1Codes, *this, v * kPieces),
                   hn::IfThenElseZero(bits_as_mask(negative), all(2)));
  }

 private:
  HWY_INLINE std::size_t bits_of(std::size_t part) const { return little_u16(at + 32 + 2 * part); }
};

struct IQ1_M : SuperBlock<56, CodeOrder::kNatural, 16> {
  static constexpr DType kType = DType::kIQ1_M;
  static constexpr float kUnit = 1.0F / 4;
  const std::byte* at;
  HWY_INLINE explicit IQ1_M(const std::byte* from)
      : SuperBlock(ScaleSet<16>(iq1_m_scales(from + 48), iq1_m_block_scale(from + 48), -0.5F)),
        at(from) {}
  HWY_INLINE std::size_t index(std::size_t i) const {
    const auto high = std::to_integer<std::size_t>(at[32 + i / 2]) >> (4 * (i % 2)) & 7U;
    return std::to_integer<std::size_t>(at[i]) | high << 8;
  }
  HWY_INLINE V8 codes(std::size_t v) const {
    // The highest bit of a nibble is that of 8 elements.
    using Nibbles =
        std::conditional_t<kBytes == 64, std::uint32_t,
                           std::conditional_t<kBytes == 32, std::uint16_t, std::uint8_t>>;
    const auto nibbles = little<Nibbles>(at + 32 + v * sizeof(Nibbles));
    const std::uint64_t bits = nibbles_as_bytes(nibbles) >> 3 & 0x0101010101010101;
    return hn::Sub(vectors_at<kBytes>(kIq1Codes, *this, v * kPieces),
                   hn::IfThenElseZero(bits_as_mask(bits * 255), all(2)));
  }
};

#endif  // HWY_TARGET == HWY_AVX3_DL

}  // namespace shunt::cpu::simd::HWY_NAMESPACE::codes
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // SHUNT_CPU_SIMD_CODES_IQ_INL_H
