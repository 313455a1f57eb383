// Rounding to BF16. Included once for each target.
#if defined(SHUNT_CPU_SIMD_BF16_ROUND_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_BF16_ROUND_INL_H
#undef SHUNT_CPU_SIMD_BF16_ROUND_INL_H
#else
#define SHUNT_CPU_SIMD_BF16_ROUND_INL_H
#endif

#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/loops-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

/// To the nearest, of two the even one; finite numbers stay finite. Writes whole vectors: zeros
/// after the last.
HWY_INLINE void round_to_bf16(const float* from, std::size_t n, std::uint16_t* to) {
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  for (std::size_t i = 0; i < n; i += kLanes) {
    const V x = i + kLanes <= n ? hn::LoadU(D(), from + i) : load_first(D(), from + i, n - i);
    const auto sign = hn::And(hn::BitCast(du, x), hn::Set(du, 0x80000000U));
    const auto size = hn::Xor(hn::BitCast(du, x), sign);
    const auto infinity = hn::Set(du, 0x7f800000U);
    const auto odd = hn::And(hn::ShiftRight<16>(size), hn::Set(du, 1U));
    const auto rounded =
        hn::Min(hn::Add(size, hn::Add(odd, hn::Set(du, 0x7fffU))), hn::Set(du, 0x7f7fffffU));
    // The upper half of a not-a-number may be that of infinity.
    const auto special = hn::IfThenElse(hn::Gt(size, infinity), hn::Set(du, 0x7fc00000U), infinity);
    const auto result = hn::Or(sign, hn::IfThenElse(hn::Lt(size, infinity), rounded, special));
    hn::StoreU(hn::DemoteTo(d16, hn::BitCast(di, hn::ShiftRight<16>(result))), d16, to + i);
  }
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SHUNT_CPU_SIMD_BF16_ROUND_INL_H
