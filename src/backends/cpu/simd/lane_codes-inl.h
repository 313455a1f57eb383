// Quantised weights whose rows are interleaved by 16 (backends/cpu/interleaved.h) as bytes, for
// products with 8-bit activations. As codes-inl.h, but a lane of a vector is a row. Each block of
// 32 elements has 8 fours of codes (4 neighbouring elements of each row), and numbers for each run
// of 32 or 16 elements.
//   `kMinRun == 0`:  value = scale * (code - 128)
//   else:            value = scale * code - minimum.
// No weight is rounded. Included once for each target.
#if defined(SHUNT_CPU_SIMD_LANE_CODES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_LANE_CODES_INL_H
#undef SHUNT_CPU_SIMD_LANE_CODES_INL_H
#else
#define SHUNT_CPU_SIMD_LANE_CODES_INL_H
#endif

#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/interleaved.h"
#include "backends/cpu/simd/codes-inl.h"
#include "backends/cpu/simd/format_table.h"
#include "hwy/highway.h"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE::lanes {

using namespace codes;

inline constexpr std::size_t kGroup = kGroupRows;
using D32 = hn::Repartition<std::uint32_t, D8>;
using V32 = hn::Vec<D32>;

/// Numbers of a block's runs, for the rows of a vector.
using Numbers = float (*)[kLanes];

/// The blocks of a group at one place of k, from row `row` on.
struct Blocks16 {
  const std::byte* at;
  std::size_t row;

  /// Word `i` of the field that starts at `field` in a block.
  HWY_INLINE V8 word(std::size_t field, std::size_t i) const {
    return load(at + kGroup * field + i * (kGroup * 4) + row * 4);
  }
  /// The 16 bits at `field`, which are little-endian.
  HWY_INLINE auto bits16(std::size_t field) const {
    const hn::Rebind<std::uint16_t, D> d16;
    const auto bits =
        hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(at + kGroup * field) + row);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return hn::Or(hn::ShiftLeft<8>(bits), hn::ShiftRight<8>(bits));
#else
    return bits;
#endif
  }
  HWY_INLINE V f16(std::size_t field) const {
    return f16_to_f32(D(), bits16(field));
  }
};

HWY_INLINE V32 as_words(V8 v) {
  return hn::BitCast(D32(), v);
}
HWY_INLINE V8 as_bytes(V32 v) {
  return hn::BitCast(D8(), v);
}
/// Bits of bytes moved down by `bits`, which is not known beforehand; others come along.
HWY_INLINE V8 moved_down(V8 v, std::size_t bits) {
  return as_bytes(hn::ShiftRightSame(as_words(v), static_cast<int>(bits)));
}
/// How far from the bottom of a word byte i of memory is.
constexpr int byte_shift(std::size_t i) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  i = 3 - i;
#endif
  return static_cast<int>(8 * i);
}
/// Byte I of each lane as F32.
template <std::size_t I>
HWY_INLINE V byte_number(V8 v) {
  const hn::RebindToSigned<D32> di;
  const V32 byte = hn::And(hn::ShiftRight<byte_shift(I)>(as_words(v)), hn::Set(D32(), 255));
  return hn::ConvertTo(D(), hn::BitCast(di, byte));
}
/// The same of bytes with a sign.
template <std::size_t I>
HWY_INLINE V signed_byte_number(V8 v) {
  const hn::RebindToSigned<D32> di;
  const auto top = hn::ShiftLeft<24 - byte_shift(I)>(hn::BitCast(di, as_words(v)));
  return hn::ConvertTo(D(), hn::ShiftRight<24>(top));
}
/// Stores number(byte) for 4 bytes, from to[0] on.
template <class Function>
HWY_INLINE void store_four(const Function& number, Numbers to) {
  hn::Store(number(std::integral_constant<std::size_t, 0>()), D(), to[0]);
  hn::Store(number(std::integral_constant<std::size_t, 1>()), D(), to[1]);
  hn::Store(number(std::integral_constant<std::size_t, 2>()), D(), to[2]);
  hn::Store(number(std::integral_constant<std::size_t, 3>()), D(), to[3]);
}

/// The common part of formats: blocks of `Elements` in `Bytes`, runs with a scale or a minimum.
template <std::size_t Elements, std::size_t Bytes, std::size_t Run, std::size_t MinRun = 0>
struct LaneFormat {
  static constexpr std::size_t kElements = Elements;
  static constexpr std::size_t kBlockBytes = Bytes;
  static constexpr std::size_t kScales = 32 / Run;  ///< of 32 elements
  static constexpr std::size_t kMins = MinRun == 0 ? 0 : 32 / MinRun;
  static constexpr bool kOffset = MinRun == 0;
  Blocks16 blocks;
  HWY_INLINE void store_mins(Numbers) const {}
};

/// Types of 32 elements a block whose scale is the F16 at its start, times 1 / Unit.
template <std::size_t Bytes, int Unit = 1, std::size_t MinRun = 0>
struct ShortBlocks : LaneFormat<32, Bytes, 32, MinRun> {
  HWY_INLINE void store_scales(Numbers to) const {
    V scale = this->blocks.f16(0);
    if constexpr (Unit != 1) scale = hn::Mul(scale, hn::Set(D(), 1.0F / Unit));
    hn::Store(scale, D(), to[0]);
  }
  /// A minimum that is subtracted, where the type adds the F16 at 2.
  HWY_INLINE void store_mins(Numbers to) const {
    if constexpr (MinRun != 0) hn::Store(hn::Neg(this->blocks.f16(2)), D(), to[0]);
  }
  /// Nibbles of 32 elements from `field`: a byte has those of elements i and i + 16.
  HWY_INLINE V8 nibbles(std::size_t field, std::size_t four) const {
    const V8 both = this->blocks.word(field, four % 4);
    return four < 4 ? hn::And(both, all(15)) : down<4>(both, 15);
  }
  /// Whether bit 4 * four + i of the word at `field` is set, for byte i of each lane.
  HWY_INLINE hn::Mask<D8> bits(std::size_t field, std::size_t four) const {
    alignas(64) static constexpr auto kWhich = [] {
      std::array<std::array<std::uint8_t, kBytes>, 4> bytes{};
      for (std::size_t b = 0; b < 4; ++b) {
        for (std::size_t i = 0; i < kBytes; ++i)
          bytes[b][i] = static_cast<std::uint8_t>(i % 16 / 4 * 4 + b);
      }
      return bytes;
    }();
    alignas(64) static constexpr auto kBit = [] {
      std::array<std::array<std::uint8_t, kBytes>, 2> bytes{};
      for (std::size_t half = 0; half < 2; ++half) {
        for (std::size_t i = 0; i < kBytes; ++i)
          bytes[half][i] = static_cast<std::uint8_t>(1U << (half * 4 + i % 4));
      }
      return bytes;
    }();
    const V8 byte =
        hn::TableLookupBytes(this->blocks.word(field, 0), hn::Load(D8(), kWhich[four / 2].data()));
    return hn::TestBit(byte, hn::Load(D8(), kBit[four % 2].data()));
  }
};

struct Q8_0 : ShortBlocks<34> {
  static constexpr DType kType = DType::kQ8_0;
  HWY_INLINE V8 codes(std::size_t, std::size_t four) const {
    return hn::Xor(blocks.word(2, four), all(0x80));
  }
};
/// With the nibbles at the top of bytes: 16 * (q - 8) + 128.
struct Q4_0 : ShortBlocks<18, 16> {
  static constexpr DType kType = DType::kQ4_0;
  HWY_INLINE V8 codes(std::size_t, std::size_t four) const {
    const V8 both = blocks.word(2, four % 4);
    return four < 4 ? up<4>(both, 0xf0) : hn::And(both, all(0xf0));
  }
};
struct Q4_1 : ShortBlocks<20, 1, 32> {
  static constexpr DType kType = DType::kQ4_1;
  HWY_INLINE V8 codes(std::size_t, std::size_t four) const { return nibbles(4, four); }
};
struct Q5_0 : ShortBlocks<22> {
  static constexpr DType kType = DType::kQ5_0;
  HWY_INLINE V8 codes(std::size_t, std::size_t four) const {
    // q - 16 + 128: 112 without the fifth bit, 128 with it.
    return hn::Add(nibbles(6, four), hn::IfThenElse(bits(2, four), all(128), all(112)));
  }
};
struct Q5_1 : ShortBlocks<24, 1, 32> {
  static constexpr DType kType = DType::kQ5_1;
  HWY_INLINE V8 codes(std::size_t, std::size_t four) const {
    return hn::Or(nibbles(8, four), hn::IfThenElseZero(bits(4, four), all(16)));
  }
};
struct IQ4_NL : ShortBlocks<18> {
  static constexpr DType kType = DType::kIQ4_NL;
  HWY_INLINE V8 codes(std::size_t, std::size_t four) const {
    return look_up(kIq4Codes, nibbles(2, four));
  }
};
struct MXFP4 : ShortBlocks<17> {
  static constexpr DType kType = DType::kMXFP4;
  /// 2^(e - 128); not-a-number for 255.
  HWY_INLINE void store_scales(Numbers to) const {
    const hn::Rebind<std::uint8_t, D> d8;
    const auto* from = reinterpret_cast<const std::uint8_t*>(blocks.at) + blocks.row;
    const V32 e = hn::PromoteTo(D32(), hn::LoadU(d8, from));
    const hn::RebindToSigned<D32> di;
    const auto normal = hn::ShiftLeft<23>(hn::Sub(e, hn::Set(D32(), 1)));
    const auto tiny = hn::ShiftLeft<21>(hn::Add(e, hn::Set(D32(), 1)));  // of 0 and 1
    const auto is = [&](std::int32_t less) {
      return hn::Lt(hn::BitCast(di, e), hn::Set(di, less));
    };
    auto bits = hn::IfThenElse(is(2), hn::BitCast(di, tiny), hn::BitCast(di, normal));
    bits = hn::IfThenElse(is(255), bits, hn::Set(di, 0x7fc00000));
    hn::Store(hn::BitCast(D(), bits), D(), to[0]);
  }
  HWY_INLINE V8 codes(std::size_t, std::size_t four) const {
    return look_up(kE2M1Codes, nibbles(1, four));
  }
};

/// Types of 256 elements a block.
template <std::size_t Bytes, std::size_t Run, std::size_t MinRun = 0>
struct LongBlocks : LaneFormat<256, Bytes, Run, MinRun> {
  /// Nibbles from `field`: 32 bytes have those of blocks b and b + 1, for even b.
  HWY_INLINE V8 nibbles(std::size_t field, std::size_t b, std::size_t four) const {
    const V8 both = this->blocks.word(field, b / 2 * 8 + four);
    return hn::And(moved_down(both, b % 2 * 4), all(15));
  }
  /// Two bits from `field`: 32 bytes have those of blocks b to b + 3, for b 0 and 4.
  HWY_INLINE V8 two_bits(std::size_t field, std::size_t b, std::size_t four) const {
    return hn::And(moved_down(this->blocks.word(field, b / 4 * 8 + four), b % 4 * 2), all(3));
  }
  /// Whether bit b of a byte from `field` is set.
  HWY_INLINE hn::Mask<D8> plane(std::size_t field, std::size_t b, std::size_t four) const {
    return hn::TestBit(this->blocks.word(field, four), all(static_cast<std::uint8_t>(1U << b)));
  }
};

/// Q4_K and Q5_K, see tensor/formats/k_blocks.h.
template <std::size_t Bytes>
struct SixBitBlocks : LongBlocks<Bytes, 32, 32> {
  HWY_INLINE void store_scales(Numbers to) const { store(this->blocks.f16(0), 0, to); }
  HWY_INLINE void store_mins(Numbers to) const { store(this->blocks.f16(2), 1, to); }

 private:
  /// Six bits of each: word `which` has the first four, and the upper bits of the others, whose
  /// lower bits are the lower or upper halves of word 2.
  HWY_INLINE void store(V d, std::size_t which, Numbers to) const {
    const V8 first = this->blocks.word(4, which);
    const V8 last = this->blocks.word(4, 2);
    const V8 low = which == 0 ? hn::And(last, all(15)) : down<4>(last, 15);
    const V8 four = hn::And(first, all(63));
    const V8 others = hn::Or(low, down<2>(first, 0x30));
    store_four([&](auto i) HWY_ATTR { return hn::Mul(d, byte_number<i>(four)); }, to);
    store_four([&](auto i) HWY_ATTR { return hn::Mul(d, byte_number<i>(others)); }, to + 4);
  }
};
struct Q4_K : SixBitBlocks<144> {
  static constexpr DType kType = DType::kQ4_K;
  HWY_INLINE V8 codes(std::size_t b, std::size_t four) const { return nibbles(16, b, four); }
};
struct Q5_K : SixBitBlocks<176> {
  static constexpr DType kType = DType::kQ5_K;
  HWY_INLINE V8 codes(std::size_t b, std::size_t four) const {
    return hn::Or(nibbles(48, b, four), hn::IfThenElseZero(plane(16, b, four), all(16)));
  }
};

/// q - 32 + 128.
struct Q6_K : LongBlocks<210, 16> {
  static constexpr DType kType = DType::kQ6_K;
  HWY_INLINE void store_scales(Numbers to) const {
    const V d = blocks.f16(208);
    for (std::size_t i = 0; i < 4; ++i) {
      const V8 four = blocks.word(192, i);
      store_four([&](auto n) HWY_ATTR { return hn::Mul(d, signed_byte_number<n>(four)); },
                 to + 4 * i);
    }
  }
  /// 128 elements have 64 bytes, whose lower halves are those of the first 64, and 32 of upper
  /// bits.
  HWY_INLINE V8 codes(std::size_t b, std::size_t four) const {
    const V8 both = blocks.word(0, b / 4 * 16 + b % 2 * 8 + four);
    const V8 low = hn::And(moved_down(both, b % 4 / 2 * 4), all(15));
    const V8 high = as_bytes(hn::ShiftLeft<4>(as_words(two_bits(128, b, four))));
    return hn::Add(hn::Or(low, high), all(96));
  }
};

/// q - 4 + 128.
struct Q3_K : LongBlocks<110, 16> {
  static constexpr DType kType = DType::kQ3_K;
  HWY_INLINE void store_scales(Numbers to) const {
    const V d = blocks.f16(108);
    const V less = hn::Mul(d, hn::Set(D(), -32));
    const V8 a = blocks.word(96, 0);
    const V8 b = blocks.word(96, 1);
    const V8 c = blocks.word(96, 2);
    const auto four = [&](V8 low, V8 high, Numbers at) HWY_ATTR {
      const V8 six = hn::Or(low, high);
      store_four([&](auto i) HWY_ATTR { return hn::MulAdd(d, byte_number<i>(six), less); }, at);
    };
    four(hn::And(a, all(15)), up<4>(c, 0x30), to);
    four(hn::And(b, all(15)), up<2>(c, 0x30), to + 4);
    four(down<4>(a, 15), hn::And(c, all(0x30)), to + 8);
    four(down<4>(b, 15), down<2>(c, 0x30), to + 12);
  }
  HWY_INLINE V8 codes(std::size_t b, std::size_t four) const {
    return hn::Add(two_bits(32, b, four), hn::IfThenElse(plane(0, b, four), all(128), all(124)));
  }
};

/// The product of a part's scale and its 2-bit numbers, at most 45, so that all share d.
struct Q2_K : LongBlocks<84, 32, 16> {
  static constexpr DType kType = DType::kQ2_K;
  HWY_INLINE void store_scales(Numbers to) const {
    const V d = blocks.f16(80);
    for (std::size_t b = 0; b < 8; ++b) hn::Store(d, D(), to[b]);
  }
  HWY_INLINE void store_mins(Numbers to) const {
    const V d = blocks.f16(82);
    for (std::size_t i = 0; i < 4; ++i) {
      const V8 four = down<4>(blocks.word(0, i), 15);
      store_four([&](auto n) HWY_ATTR { return hn::Mul(d, byte_number<n>(four)); }, to + 4 * i);
    }
  }
  HWY_INLINE V8 codes(std::size_t b, std::size_t four) const {
    const hn::Repartition<std::uint16_t, D8> d16;
    // The scale of each row in both halves of its lane: no product of a byte leaves it.
    const std::size_t run = 2 * b + four / 4;
    const V8 scale =
        hn::And(moved_down(blocks.word(0, run / 4), static_cast<std::size_t>(byte_shift(run % 4))),
                hn::BitCast(D8(), hn::Set(D32(), 15)));
    const auto twice =
        hn::BitCast(d16, hn::Or(as_words(scale), hn::ShiftLeft<16>(as_words(scale))));
    return hn::BitCast(D8(), hn::Mul(hn::BitCast(d16, two_bits(16, b, four)), twice));
  }
};

struct IQ4_XS : LongBlocks<136, 32> {
  static constexpr DType kType = DType::kIQ4_XS;
  HWY_INLINE void store_scales(Numbers to) const {
    const V d = blocks.f16(0);
    const V less = hn::Mul(d, hn::Set(D(), -32));
    const V32 high = hn::PromoteTo(D32(), blocks.bits16(2));
    const V32 low = as_words(blocks.word(4, 0));
    const hn::RebindToSigned<D32> di;
    for (std::size_t b = 0; b < 8; ++b) {
      const int i = static_cast<int>(b);
      const auto four =
          hn::And(hn::ShiftRightSame(low, byte_shift(b / 2) + 4 * (i % 2)), hn::Set(D32(), 15));
      const auto two = hn::And(hn::ShiftRightSame(high, 2 * i), hn::Set(D32(), 3));
      const auto six = hn::Or(four, hn::ShiftLeft<4>(two));
      hn::Store(hn::MulAdd(d, hn::ConvertTo(D(), hn::BitCast(di, six)), less), D(), to[b]);
    }
  }
  HWY_INLINE V8 codes(std::size_t b, std::size_t four) const {
    const V8 both = blocks.word(8, b * 4 + four % 4);
    return look_up(kIq4Codes, four < 4 ? hn::And(both, all(15)) : down<4>(both, 15));
  }
};

/// Those of all types that have lanes.
using LaneFormats =
    FormatList<Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, MXFP4, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS>;

}  // namespace shunt::cpu::simd::HWY_NAMESPACE::lanes
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // SHUNT_CPU_SIMD_LANE_CODES_INL_H
