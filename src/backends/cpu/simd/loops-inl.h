// Walking over rows of F32 by vectors. Included once for each target, see vector.cpp.
#if defined(SHUNT_CPU_SIMD_LOOPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_LOOPS_INL_H
#undef SHUNT_CPU_SIMD_LOOPS_INL_H
#else
#define SHUNT_CPU_SIMD_LOOPS_INL_H
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
/// Floats in a vector: a constant, see targets.h.
inline constexpr std::size_t kLanes = hn::MaxLanes(D());

/// The first `count` elements, fewer than a vector has, and `fill` for the others. Reads nothing
/// else.
template <class D>
HWY_INLINE hn::Vec<D> load_first(D d, const hn::TFromD<D>* from, std::size_t count,
                                 hn::TFromD<D> fill = 0) {
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())];
  for (std::size_t i = 0; i < hn::MaxLanes(d); ++i) lanes[i] = i < count ? from[i] : fill;
  return hn::Load(d, lanes);
}

/// Stores the first `count` elements only.
template <class D>
HWY_INLINE void store_first(D d, hn::Vec<D> v, hn::TFromD<D>* to, std::size_t count) {
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())];
  hn::Store(v, d, lanes);
  for (std::size_t i = 0; i < count; ++i) to[i] = lanes[i];
}

/// y[i] = f(a[i], ...) for all i.
template <class F, class... Rows>
HWY_INLINE void map(float* y, std::int64_t n, const F& f, const Rows*... rows) {
  const D d;
  const auto count = static_cast<std::size_t>(n);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(f(hn::LoadU(d, rows + i)...), d, y + i);
  if (i < count) store_first(d, f(load_first(d, rows + i, count - i)...), y + i, count - i);
}

/// The sum over i of the terms that f(sum, a[i], ...) adds, in four sums that are joined at the
/// end. Elements past the last are zeros.
template <class F, class... Rows>
HWY_INLINE float accumulate(std::int64_t n, const F& f, const Rows*... rows) {
  const D d;
  const auto count = static_cast<std::size_t>(n);
  V s0 = hn::Zero(d);
  V s1 = hn::Zero(d);
  V s2 = hn::Zero(d);
  V s3 = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    s0 = f(s0, hn::LoadU(d, rows + i)...);
    s1 = f(s1, hn::LoadU(d, rows + i + kLanes)...);
    s2 = f(s2, hn::LoadU(d, rows + i + 2 * kLanes)...);
    s3 = f(s3, hn::LoadU(d, rows + i + 3 * kLanes)...);
  }
  for (; i + kLanes <= count; i += kLanes) s0 = f(s0, hn::LoadU(d, rows + i)...);
  if (i < count) s1 = f(s1, load_first(d, rows + i, count - i)...);
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SHUNT_CPU_SIMD_LOOPS_INL_H
