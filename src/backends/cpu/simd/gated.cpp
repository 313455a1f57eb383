#include "backends/cpu/simd/gated.h"

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/gated.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/dispatch.h"
#include "backends/cpu/simd/loops-inl.h"
#include "backends/cpu/simd/sigmoid-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

void Reglu(const float* gate, const float* up, float* y, std::int64_t n) {
  map(
      y, n,
      [](V vg, V vu) HWY_ATTR {
        // Not Max, which may lose a not-a-number.
        const V zero = hn::Zero(D());
        return hn::Mul(hn::IfThenElse(hn::Lt(vg, zero), zero, vg), vu);
      },
      gate, up);
}

void Geglu(const float* gate, const float* up, float* y, std::int64_t n) {
  map(
      y, n, [](V vg, V vu) HWY_ATTR { return sigmoid_times(gelu_argument(vg), vg, vu); }, gate, up);
}

void GegluQuick(const float* gate, const float* up, float* y, std::int64_t n) {
  map(
      y, n,
      [](V vg, V vu) HWY_ATTR { return sigmoid_times(hn::Mul(vg, hn::Set(D(), 1.702F)), vg, vu); },
      gate, up);
}

void Swiglu(const float* gate, const float* up, float* y, std::int64_t n) {
  map(
      y, n, [](V vg, V vu) HWY_ATTR { return sigmoid_times(vg, vg, vu); }, gate, up);
}

void SwigluOai(const float* gate, const float* up, float alpha, float limit, float* y,
               std::int64_t n) {
  const D d;
  const V va = hn::Set(d, alpha);
  const V high = hn::Set(d, limit);
  const V low = hn::Set(d, -limit);
  map(
      y, n,
      [=](V vg, V vu) HWY_ATTR {
        // Comparisons, as Min and Max may lose a not-a-number.
        const V c = hn::IfThenElse(hn::Gt(vg, high), high, vg);
        V u = hn::IfThenElse(hn::Gt(vu, high), high, vu);
        u = hn::IfThenElse(hn::Lt(u, low), low, u);
        return sigmoid_times(hn::Mul(va, c), c, hn::Add(u, hn::Set(D(), 1.0F)));
      },
      gate, up);
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shunt::cpu::simd {

HWY_EXPORT(Reglu);
HWY_EXPORT(Geglu);
HWY_EXPORT(GegluQuick);
HWY_EXPORT(Swiglu);
HWY_EXPORT(SwigluOai);

void reglu(Level level, const float* gate, const float* up, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, Reglu)(gate, up, y, n);
}
void geglu(Level level, const float* gate, const float* up, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, Geglu)(gate, up, y, n);
}
void geglu_quick(Level level, const float* gate, const float* up, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, GegluQuick)(gate, up, y, n);
}
void swiglu(Level level, const float* gate, const float* up, float* y, std::int64_t n) {
  SHUNT_DISPATCH(level, Swiglu)(gate, up, y, n);
}
void swiglu_oai(Level level, const float* gate, const float* up, float alpha, float limit, float* y,
                std::int64_t n) {
  SHUNT_DISPATCH(level, SwigluOai)(gate, up, alpha, limit, y, n);
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
