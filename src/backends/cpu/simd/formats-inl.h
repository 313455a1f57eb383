// Weights of each element type as vectors of F32, for decode() and the products of matmul.h. A
// format gives `kBlock` elements at a time. `Block::load()` reads the data that they share, and
// `vector(i)` gives elements [i * lanes, (i + 1) * lanes) of the block, exactly. Included once for
// each target.
#if defined(SHUNT_CPU_SIMD_FORMATS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_FORMATS_INL_H
#undef SHUNT_CPU_SIMD_FORMATS_INL_H
#else
#define SHUNT_CPU_SIMD_FORMATS_INL_H
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/simd/loops-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

/// All blocks, those of plain types included, have 32 elements.
inline constexpr std::size_t kBlock = 32;
static_assert(kLanes <= 16 && kBlock % kLanes == 0);

/// F16 to F32. Highway's own conversion where it is an instruction; elsewhere it takes infinity for
/// a number.
template <class DF>
HWY_INLINE hn::Vec<DF> f16_to_f32(DF df, hn::Vec<hn::Rebind<std::uint16_t, DF>> bits) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || \
    HWY_TARGET == HWY_NEON
  const hn::Rebind<hwy::float16_t, DF> dh;
  return hn::PromoteTo(df, hn::BitCast(dh, bits));
#else
  // The exponent's bias is corrected by a product, which is exact and makes subnormals right, too.
  const hn::RebindToUnsigned<DF> du;
  const auto wide = hn::PromoteTo(du, bits);
  const auto magnitude = hn::ShiftLeft<13>(hn::And(wide, hn::Set(du, 0x7fffU)));
  const auto sign = hn::ShiftLeft<16>(hn::And(wide, hn::Set(du, 0x8000U)));
  const auto number = hn::BitCast(du, hn::Mul(hn::BitCast(df, magnitude), hn::Set(df, 0x1p112F)));
  // Infinity and not-a-number, which is made quiet.
  const hn::RebindToSigned<DF> di;
  const auto special =
      hn::RebindMask(du, hn::Gt(hn::BitCast(di, magnitude), hn::Set(di, (0x7c00 << 13) - 1)));
  const auto nan =
      hn::RebindMask(du, hn::Gt(hn::BitCast(di, magnitude), hn::Set(di, 0x7c00 << 13)));
  auto high = hn::Or(magnitude, hn::Set(du, 0x7f800000U));
  high = hn::Or(high, hn::IfThenElseZero(nan, hn::Set(du, 0x400000U)));
  return hn::BitCast(df, hn::Or(sign, hn::IfThenElse(special, high, number)));
#endif
}

/// One F16, stored little-endian, as all lanes.
HWY_INLINE V little_f16(const std::byte* from) {
  const auto bits = static_cast<std::uint16_t>(std::to_integer<unsigned>(from[0]) |
                                               std::to_integer<unsigned>(from[1]) << 8);
  const hn::CappedTag<float, 1> d1;
  const hn::Rebind<std::uint16_t, decltype(d1)> d16;
  return hn::Set(D(), hn::GetLane(f16_to_f32(d1, hn::Set(d16, bits))));
}

struct F32 {
  static constexpr std::size_t kBytes = 4 * kBlock;
  static constexpr bool kPlain = true;
  struct Block {
    const float* values;
    HWY_INLINE V vector(std::size_t i) const { return hn::LoadU(D(), values + i * kLanes); }
  };
  static HWY_INLINE Block load(const std::byte* from) {
    return {reinterpret_cast<const float*>(from)};
  }
};

struct F16 {
  static constexpr std::size_t kBytes = 2 * kBlock;
  static constexpr bool kPlain = true;
  struct Block {
    const std::uint16_t* values;
    HWY_INLINE V vector(std::size_t i) const {
      const hn::Rebind<std::uint16_t, D> d16;
      return f16_to_f32(D(), hn::LoadU(d16, values + i * kLanes));
    }
  };
  static HWY_INLINE Block load(const std::byte* from) {
    return {reinterpret_cast<const std::uint16_t*>(from)};
  }
};

struct BF16 {
  static constexpr std::size_t kBytes = 2 * kBlock;
  static constexpr bool kPlain = true;
  struct Block {
    const std::uint16_t* values;
    HWY_INLINE V vector(std::size_t i) const {
      const hn::Rebind<std::uint16_t, D> d16;
      const hn::RebindToUnsigned<D> du;
      const auto wide = hn::PromoteTo(du, hn::LoadU(d16, values + i * kLanes));
      return hn::BitCast(D(), hn::ShiftLeft<16>(wide));
    }
  };
  static HWY_INLINE Block load(const std::byte* from) {
    return {reinterpret_cast<const std::uint16_t*>(from)};
  }
};

/// An F16 scale d, then 32 signed bytes: d * q.
struct Q8_0 {
  static constexpr std::size_t kBytes = 2 + kBlock;
  static constexpr bool kPlain = false;
  struct Block {
    V scale;
    const std::int8_t* values;
    HWY_INLINE V vector(std::size_t i) const {
      const hn::Rebind<std::int8_t, D> d8;
      const hn::RebindToSigned<D> di;
      const auto wide = hn::PromoteTo(di, hn::LoadU(d8, values + i * kLanes));
      return hn::Mul(hn::ConvertTo(D(), wide), scale);
    }
  };
  static HWY_INLINE Block load(const std::byte* from) {
    return {little_f16(from), reinterpret_cast<const std::int8_t*>(from + 2)};
  }
};

/// An F16 scale d, then 16 bytes whose lower halves are elements 0 to 15 and whose upper halves are
/// 16 to 31: d * (q - 8).
struct Q4_0 {
  static constexpr std::size_t kBytes = 2 + kBlock / 2;
  static constexpr bool kPlain = false;
  struct Block {
    V scale;
    const std::uint8_t* values;
    HWY_INLINE V vector(std::size_t i) const {
      const hn::Rebind<std::uint8_t, D> d8;
      const hn::RebindToSigned<D> di;
      constexpr std::size_t kHalf = kBlock / 2;
      const std::size_t first = i * kLanes;
      const bool upper = first >= kHalf;
      const auto pairs = hn::PromoteTo(di, hn::LoadU(d8, values + (upper ? first - kHalf : first)));
      const auto q = upper ? hn::ShiftRight<4>(pairs) : hn::And(pairs, hn::Set(di, 15));
      return hn::Mul(hn::ConvertTo(D(), hn::Sub(q, hn::Set(di, 8))), scale);
    }
  };
  static HWY_INLINE Block load(const std::byte* from) {
    return {little_f16(from), reinterpret_cast<const std::uint8_t*>(from + 2)};
  }
};

/// The block of a plain type's last n elements, fewer than a block: they, and zeros, in `copy`.
template <class Format>
HWY_INLINE typename Format::Block load_tail(const std::byte* from, std::size_t n, std::byte* copy) {
  std::memset(copy, 0, Format::kBytes);
  std::memcpy(copy, from, n * (Format::kBytes / kBlock));
  return Format::load(copy);
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SHUNT_CPU_SIMD_FORMATS_INL_H
