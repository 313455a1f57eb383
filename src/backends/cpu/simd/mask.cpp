#include "backends/cpu/simd/mask.h"

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/mask.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/dispatch.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Bits of minus infinity.
constexpr std::uint16_t kHidden16 = 0xfc00;
constexpr std::uint32_t kHidden32 = 0xff800000;

template <class Bits>
SeenKeys Look(const Bits* mask, std::size_t all, Bits hidden) {
  const hn::ScalableTag<Bits> d;
  std::size_t count = all;
  const std::size_t lanes = hn::Lanes(d);
  const auto hides = hn::Set(d, hidden);
  while (count >= lanes && hn::AllTrue(d, hn::Eq(hn::LoadU(d, mask + count - lanes), hides)))
    count -= lanes;
  while (count > 0 && mask[count - 1] == hidden) --count;
  if (count < all) return {static_cast<std::int64_t>(count), count == 0};
  std::size_t i = 0;
  while (i + lanes <= count && hn::AllTrue(d, hn::Eq(hn::LoadU(d, mask + i), hn::Zero(d))))
    i += lanes;
  while (i < count && mask[i] == 0) ++i;
  return {static_cast<std::int64_t>(count), i == count};
}

SeenKeys LookF16(const std::byte* mask, std::size_t count) {
  return Look(reinterpret_cast<const std::uint16_t*>(mask), count, kHidden16);
}
SeenKeys LookF32(const std::byte* mask, std::size_t count) {
  return Look(reinterpret_cast<const std::uint32_t*>(mask), count, kHidden32);
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shunt::cpu::simd {

HWY_EXPORT(LookF16);
HWY_EXPORT(LookF32);

SeenKeys look_at_mask(Level level, DType type, const std::byte* mask, std::int64_t count) {
  const auto n = static_cast<std::size_t>(count);
  if (type == DType::kF16) return SHUNT_DISPATCH(level, LookF16)(mask, n);
  return SHUNT_DISPATCH(level, LookF32)(mask, n);
}

}  // namespace shunt::cpu::simd
#endif
