// Sums of 4 products of bytes, the instruction that decides the speed. Included once for each
// target.
#if defined(SHUNT_CPU_SIMD_INT8_DOT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_INT8_DOT_INL_H
#undef SHUNT_CPU_SIMD_INT8_DOT_INL_H
#else
#define SHUNT_CPU_SIMD_INT8_DOT_INL_H
#endif

#include "backends/cpu/simd/codes-inl.h"
#include "hwy/highway.h"

#if HWY_ARCH_X86
#include <immintrin.h>
#endif

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE::codes {

using DI = hn::Repartition<std::int32_t, D8>;
using VI = hn::Vec<DI>;

/// Whether dot4() takes codes as they are, so that sums of codes with an offset start at -128 times
/// the sum of x; else it takes the offset off itself.
#if HWY_TARGET == HWY_AVX3_DL || defined(SHUNT_AVX2_VNNI)
inline constexpr bool kOffsetInSum = true;
#else
inline constexpr bool kOffsetInSum = false;
#endif

#if HWY_TARGET == HWY_AVX3_DL
template <bool Offset>
HWY_INLINE VI dot4(VI sum, V8 w, V8 x) {
  // As text, because Highway 1.0.3 leaves avx512vnni out of this target's options: the intrinsic
  // does not compile.
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(w.raw), "vm"(x.raw));
  return sum;
}
#elif defined(SHUNT_AVX2_VNNI)
template <bool Offset>
HWY_INLINE VI dot4(VI sum, V8 w, V8 x) {
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.raw) : "x"(w.raw), "xm"(x.raw));
  return sum;
}
#elif HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
// Pairs of products are added with saturation at 32767: 2 * 128 * 127 is just below.
HWY_INLINE VI pairs_of_pairs(V8 w, V8 x) {
#if HWY_TARGET == HWY_AVX3
  return VI{_mm512_madd_epi16(_mm512_maddubs_epi16(w.raw, x.raw), _mm512_set1_epi16(1))};
#elif HWY_TARGET == HWY_AVX2
  return VI{_mm256_madd_epi16(_mm256_maddubs_epi16(w.raw, x.raw), _mm256_set1_epi16(1))};
#else
  return VI{_mm_madd_epi16(_mm_maddubs_epi16(w.raw, x.raw), _mm_set1_epi16(1))};
#endif
}
template <bool Offset>
HWY_INLINE VI dot4(VI sum, V8 w, V8 x) {
  if constexpr (Offset) {
    // The sign goes from w to x.
    const hn::RebindToSigned<D8> ds;
    const auto signed_w = hn::BitCast(ds, hn::Xor(w, all(0x80)));
    const auto signed_x = hn::BitCast(ds, x);
    const auto turned = hn::IfThenElse(hn::Lt(signed_w, hn::Zero(ds)), hn::Neg(signed_x), signed_x);
    return hn::Add(sum,
                   pairs_of_pairs(hn::BitCast(D8(), hn::Abs(signed_w)), hn::BitCast(D8(), turned)));
  } else {
    return hn::Add(sum, pairs_of_pairs(w, x));
  }
}
#elif HWY_TARGET == HWY_NEON
template <bool Offset>
HWY_INLINE VI dot4(VI sum, V8 w, V8 x) {
  const int8x16_t a = vreinterpretq_s8_u8(Offset ? veorq_u8(w.raw, vdupq_n_u8(0x80)) : w.raw);
  const int8x16_t b = vreinterpretq_s8_u8(x.raw);
  const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)));
  const int32x4_t high = vpaddlq_s16(vmull_s8(vget_high_s8(a), vget_high_s8(b)));
  return hn::Add(sum, VI{vpaddq_s32(low, high)});
}
#else
/// Byte i of each lane, with its sign.
template <int I>
HWY_INLINE VI byte_of(V8 v) {
  const DI d;
  const VI lanes = hn::BitCast(d, v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  constexpr int kFromTop = I;
#else
  constexpr int kFromTop = 3 - I;
#endif
  return hn::ShiftRight<24>(hn::ShiftLeft<8 * kFromTop>(lanes));
}
template <bool Offset>
HWY_INLINE VI dot4(VI sum, V8 w, V8 x) {
  const V8 a = Offset ? hn::Xor(w, all(0x80)) : w;
  sum = hn::Add(sum, hn::Mul(byte_of<0>(a), byte_of<0>(x)));
  sum = hn::Add(sum, hn::Mul(byte_of<1>(a), byte_of<1>(x)));
  sum = hn::Add(sum, hn::Mul(byte_of<2>(a), byte_of<2>(x)));
  return hn::Add(sum, hn::Mul(byte_of<3>(a), byte_of<3>(x)));
}
#endif

/// The same with 4 bytes of x for all lanes.
template <bool Offset>
HWY_INLINE VI dot4_of_four(VI sum, V8 w, const std::byte* x) {
  const auto* four = reinterpret_cast<const std::int32_t*>(x);
#if HWY_TARGET == HWY_AVX3_DL
  asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum.raw) : "v"(w.raw), "m"(*four));
  return sum;
#else
  return dot4<Offset>(sum, w, hn::BitCast(D8(), hn::Set(DI(), *four)));
#endif
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE::codes
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // SHUNT_CPU_SIMD_INT8_DOT_INL_H
