// exp() of a vector. Included once for each target, see vector.cpp.
#if defined(SHUNT_CPU_SIMD_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_EXP_INL_H
#undef SHUNT_CPU_SIMD_EXP_INL_H
#else
#define SHUNT_CPU_SIMD_EXP_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// 2^n for n from -126 to 127.
template <class D, class VI>
HWY_INLINE hn::Vec<D> power_of_two(D d, VI n) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127))));
}

/// exp(x) as fraction * scale, of which neither is subnormal or infinite though the product may be.
/// The scale is 0 where exp(x) is far below the smallest float.
template <class V>
struct ExpParts {
  V fraction;
  V scale;
};

/// exp(x) = 2^n exp(r), with n the integer next to x / ln 2 and |r| <= ln 2 / 2; exp(r) by its
/// Taylor polynomial of degree 7, whose remainder is below 6e-9. Above 89, which gives infinity, x
/// is taken for 89.
template <class D, class V = hn::Vec<D>>
HWY_INLINE ExpParts<V> exp_parts(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V lowest = hn::Set(d, -174.0F);  // 2^-251, as two normal floats
  const V clamped = hn::Min(hn::Max(x, lowest), hn::Set(d, 89.0F));
  const V n = hn::Round(hn::Mul(clamped, hn::Set(d, 1.44269504F)));
  // ln 2 in two parts; n times the first, of 9 significant bits, is exact.
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), clamped);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  V p = hn::Set(d, 1.0F / 5040);
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 720));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 120));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 24));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 6));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5F));
  p = hn::MulAdd(hn::Mul(r, r), p, r);
  p = hn::Add(p, hn::Set(d, 1.0F));
  // 2^n itself may be too small or too large for a float: a half of n in each part.
  const auto exponent = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(exponent);
  const V scale = power_of_two(d, hn::Sub(exponent, half));
  return {hn::Mul(p, power_of_two(d, half)), hn::IfThenElseZero(hn::Ge(x, lowest), scale)};
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_vector(D d, V x) {
  const ExpParts<V> e = exp_parts(d, x);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Mul(e.fraction, e.scale));
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SHUNT_CPU_SIMD_EXP_INL_H
