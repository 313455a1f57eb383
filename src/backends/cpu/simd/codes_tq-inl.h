// Codes of the ternary formats, TQ1_0 and TQ2_0. Included once for each target.
#if defined(SHUNT_CPU_SIMD_CODES_TQ_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_CODES_TQ_INL_H
#undef SHUNT_CPU_SIMD_CODES_TQ_INL_H
#else
#define SHUNT_CPU_SIMD_CODES_TQ_INL_H
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/simd/codes-inl.h"
#include "hwy/highway.h"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE::codes {

/// The common part of types whose 256 elements share one scale, at byte `ScaleAt`.
template <std::size_t Bytes, CodeOrder Order, std::size_t ScaleAt>
struct OneScale : Format<256, Bytes, Order, 32> {
  const std::byte* at;
  float d;
  HWY_INLINE explicit OneScale(const std::byte* from) : at(from), d(f16_at(from + ScaleAt)) {}
  HWY_INLINE V scale(std::size_t) const { return hn::Set(D(), d); }
  HWY_INLINE void store_scales(float* to) const { std::fill_n(to, 256 / 32, d); }
};

struct TQ2_0 : OneScale<66, CodeOrder::kQuarters, 64> {
  static constexpr DType kType = DType::kTQ2_0;
  HWY_INLINE explicit TQ2_0(const std::byte* from) : OneScale(from) {}
  HWY_INLINE V8 codes(std::size_t v) const { return hn::Add(two_bits(at, v), all(127)); }
};

/// Digits in base 3: see tensor/formats/tq1_0.cpp.
struct TQ1_0 : OneScale<54, CodeOrder::kHalves, 52> {
  static constexpr DType kType = DType::kTQ1_0;
  HWY_INLINE explicit TQ1_0(const std::byte* from) : OneScale(from) {}
  HWY_INLINE V8 codes(std::size_t v) const {
    // The rest of a byte after n digits is its product with 3 to the power of n, modulo 256. Both
    // bytes of 16 bits are as many digits further.
    const hn::Repartition<std::uint16_t, D8> d16;
    alignas(64) static constexpr auto kPower =
        by_vector<std::uint16_t, kBytes / 2>([](std::size_t vector, std::size_t i) {
          const std::size_t element = sixteen_at(kOrder, vector * kPieces + i / 8) * 16 + i % 8 * 2;
          const std::size_t digit = element < 160   ? element / 32
                                    : element < 240 ? (element - 160) / 16
                                                    : (element - 240) / 4;
          std::size_t power = 1;
          for (std::size_t n = 0; n < digit; ++n) power *= 3;
          return power;
        });
    const auto power = hn::Load(d16, kPower[v].data());
    const auto both = hn::BitCast(d16, pieces<kBytes>(v * kPieces));
    const auto low = hn::And(hn::Mul(both, power), hn::Set(d16, 0x00ff));
    const auto high = hn::Mul(hn::And(both, hn::Set(d16, 0xff00)), power);
    const V8 rest = hn::BitCast(D8(), hn::Or(low, high));
    // The next digit is 3 / 256 of it: 1 from 86 on, 2 from 171 on.
    const V8 one = hn::IfThenElse(hn::Gt(rest, all(85)), all(128), all(127));
    return hn::Sub(one, hn::VecFromMask(D8(), hn::Gt(rest, all(170))));
  }

 private:
  /// The bytes whose digits 16 codes number `piece`, and those behind them, are.
  template <std::size_t Bytes>
  HWY_INLINE hn::Vec<hn::CappedTag<std::uint8_t, Bytes>> pieces(std::size_t piece) const {
    const hn::CappedTag<std::uint8_t, Bytes> du;
    if constexpr (Bytes == 16) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(at);
      const std::size_t sixteen = sixteen_at(kOrder, piece);
      if (sixteen < 15) return hn::LoadU(du, bytes + (sixteen < 10 ? sixteen % 2 * 16 : 32));
      std::uint32_t last;
      std::memcpy(&last, bytes + 48, sizeof last);
      return hn::BitCast(du, hn::Set(hn::CappedTag<std::uint32_t, 4>(), last));
    } else {
      return hn::Combine(du, pieces<Bytes / 2>(piece + Bytes / 32), pieces<Bytes / 2>(piece));
    }
  }
};

}  // namespace shunt::cpu::simd::HWY_NAMESPACE::codes
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // SHUNT_CPU_SIMD_CODES_TQ_INL_H
