#include "backends/cpu/simd/training.h"

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/training.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/dispatch.h"
#include "backends/cpu/simd/exp-inl.h"
#include "backends/cpu/simd/loops-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

/// With e = exp(-|x|), which can't overflow, s and 1 - s are 1 / (1 + e) and e / (1 + e), or the
/// other way round.
void SiluBack(const float* dy, const float* x, float* dx, std::int64_t n) {
  map(
      dx, n,
      [](V vdy, V vx) HWY_ATTR {
        const D d;
        const V one = hn::Set(d, 1.0F);
        const V e = exp_vector(d, hn::Neg(hn::Abs(vx)));
        const V large = hn::Div(one, hn::Add(one, e));
        const V small = hn::Mul(e, large);
        const auto negative = hn::Lt(vx, hn::Zero(d));
        const V s = hn::IfThenElse(negative, small, large);
        const V rest = hn::IfThenElse(negative, large, small);
        return hn::Mul(hn::Mul(vdy, s), hn::MulAdd(vx, rest, one));
      },
      dy, x);
}

void RunAdamStep(const AdamStep& step, const float* m, const float* v, float* w, std::int64_t n) {
  const D d;
  const V keep = hn::Set(d, step.keep);
  const V rate = hn::Set(d, step.rate);
  const V v_scale = hn::Set(d, step.v_scale);
  const V eps = hn::Set(d, step.eps);
  map(
      w, n,
      [=](V vw, V vm, V vv) HWY_ATTR {
        const V size = hn::Add(hn::Sqrt(hn::Mul(vv, v_scale)), eps);
        return hn::NegMulAdd(rate, hn::Div(vm, size), hn::Mul(keep, vw));
      },
      w, m, v);
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shunt::cpu::simd {

HWY_EXPORT(SiluBack);
HWY_EXPORT(RunAdamStep);

void silu_back(Level level, const float* dy, const float* x, float* dx, std::int64_t n) {
  SHUNT_DISPATCH(level, SiluBack)(dy, x, dx, n);
}
void adam_step(Level level, const AdamStep& step, const float* m, const float* v, float* w,
               std::int64_t n) {
  SHUNT_DISPATCH(level, RunAdamStep)(step, m, v, w, n);
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
