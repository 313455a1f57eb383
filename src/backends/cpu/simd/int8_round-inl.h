// Rounding activations to blocks of 32 bytes. Included once for each target.
#if defined(SHUNT_CPU_SIMD_INT8_ROUND_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_INT8_ROUND_INL_H
#undef SHUNT_CPU_SIMD_INT8_ROUND_INL_H
#else
#define SHUNT_CPU_SIMD_INT8_ROUND_INL_H
#endif

#include <algorithm>
#include <cstdint>

#include "backends/cpu/simd/loops-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

/// A block of 32 elements as bytes, with its scale.
struct Rounded {
  alignas(64) std::int8_t bytes[32];
  float scale = 0;
};

/// Below this, 127 divided by the largest magnitude is too large for F32, and scales would lose
/// digits: such blocks are rounded to multiples of 1/127 of it.
constexpr float kSmallest = 1e-36F;

HWY_INLINE Rounded round_block(const float* x) {
  const D d;
  V largest = hn::Zero(d);
  V strange = hn::Zero(d);  // not a number if one of them is infinite or not a number
  for (std::size_t i = 0; i < 32; i += kLanes) {
    const V v = hn::LoadU(d, x + i);
    largest = hn::Max(largest, hn::Abs(v));
    strange = hn::Add(strange, hn::Mul(v, hn::Zero(d)));
  }
  const float mark = hn::GetLane(hn::SumOfLanes(d, strange));
  Rounded rounded;
  if (!(mark == 0)) {
    std::fill_n(rounded.bytes, 32, std::int8_t{0});
    rounded.scale = mark;
    return rounded;
  }
  const float most = std::max(hn::GetLane(hn::MaxOfLanes(d, largest)), kSmallest);
  rounded.scale = most / 127;
  const V by = hn::Set(d, 127 / most);
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::int8_t, D> d8;
  for (std::size_t i = 0; i < 32; i += kLanes) {
    const auto whole = hn::NearestInt(hn::Mul(hn::LoadU(d, x + i), by));
    hn::StoreU(hn::DemoteTo(d8, hn::BitCast(di, whole)), d8, rounded.bytes + i);
  }
  return rounded;
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SHUNT_CPU_SIMD_INT8_ROUND_INL_H
