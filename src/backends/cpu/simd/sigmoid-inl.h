// Products with a sigmoid, of vectors. Included once for each target, see vector.cpp.
#if defined(SHUNT_CPU_SIMD_SIGMOID_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_SIGMOID_INL_H
#undef SHUNT_CPU_SIMD_SIGMOID_INL_H
#else
#define SHUNT_CPU_SIMD_SIGMOID_INL_H
#endif

#include "backends/cpu/simd/exp-inl.h"
#include "backends/cpu/simd/loops-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

/// sigmoid(z) * x * up. exp(-|z|) can't overflow, and a subnormal intermediate result would have
/// lost bits. So where z is negative, x exp(z) / (1 + exp(z)) is multiplied with the second part of
/// exp(z) at the very end.
HWY_INLINE V sigmoid_times(V z, V x, V up) {
  const D d;
  const V one = hn::Set(d, 1.0F);
  const ExpParts<V> e = exp_parts(d, hn::Neg(hn::Abs(z)));
  const V denominator = hn::MulAdd(e.fraction, e.scale, one);
  const auto negative = hn::Lt(z, hn::Zero(d));
  const V numerator = hn::Mul(x, hn::IfThenElse(negative, e.fraction, one));
  return hn::Mul(hn::Mul(hn::Div(numerator, denominator), up),
                 hn::IfThenElse(negative, e.scale, one));
}

/// gelu(x) = x (1 + tanh u) / 2 = x sigmoid(2 u): this is 2 u.
HWY_INLINE V gelu_argument(V x) {
  const D d;
  const V cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.044715F), hn::Set(d, 1.0F));
  return hn::Mul(hn::Mul(x, hn::Set(d, 1.5957691216F)), cubic);
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SHUNT_CPU_SIMD_SIGMOID_INL_H
