// Turning a square of vectors in registers. Included once for each target.
#if defined(SHUNT_CPU_SIMD_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_TRANSPOSE_INL_H
#undef SHUNT_CPU_SIMD_TRANSPOSE_INL_H
#else
#define SHUNT_CPU_SIMD_TRANSPOSE_INL_H
#endif

#include "backends/cpu/simd/loops-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void transpose(V (&)[kLanes]) {}
#else

/// Four vectors: squares of 4 by 4 in each block of four lanes are turned.
HWY_INLINE void transpose_blocks(V& a, V& b, V& c, V& e) {
  const D d;
  const hn::Repartition<double, D> d64;
  const auto ab = hn::BitCast(d64, hn::InterleaveLower(d, a, b));
  const auto ce = hn::BitCast(d64, hn::InterleaveLower(d, c, e));
  const auto ab2 = hn::BitCast(d64, hn::InterleaveUpper(d, a, b));
  const auto ce2 = hn::BitCast(d64, hn::InterleaveUpper(d, c, e));
  a = hn::BitCast(d, hn::InterleaveLower(d64, ab, ce));
  b = hn::BitCast(d, hn::InterleaveUpper(d64, ab, ce));
  c = hn::BitCast(d, hn::InterleaveLower(d64, ab2, ce2));
  e = hn::BitCast(d, hn::InterleaveUpper(d64, ab2, ce2));
}

/// Lane j of vector i changes places with lane i of vector j.
HWY_INLINE void transpose(V (&v)[kLanes]) {
  HWY_UNROLL(4)
  for (std::size_t i = 0; i < kLanes; i += 4) transpose_blocks(v[i], v[i + 1], v[i + 2], v[i + 3]);
  // Then blocks are the elements of the remaining transposition.
  if constexpr (kLanes == 8) {
#if HWY_TARGET == HWY_AVX2
    HWY_UNROLL(4)
    for (std::size_t i = 0; i < 4; ++i) {
      const V low = hn::ConcatLowerLower(D(), v[i + 4], v[i]);
      v[i + 4] = hn::ConcatUpperUpper(D(), v[i + 4], v[i]);
      v[i] = low;
    }
#endif
  } else if constexpr (kLanes == 16) {
#if HWY_TARGET <= HWY_AVX3
    HWY_UNROLL(4)
    for (std::size_t i = 0; i < 4; ++i) {
      const auto even = _mm512_shuffle_f32x4(v[i].raw, v[i + 4].raw, 0x88);
      const auto odd = _mm512_shuffle_f32x4(v[i].raw, v[i + 4].raw, 0xdd);
      const auto even2 = _mm512_shuffle_f32x4(v[i + 8].raw, v[i + 12].raw, 0x88);
      const auto odd2 = _mm512_shuffle_f32x4(v[i + 8].raw, v[i + 12].raw, 0xdd);
      v[i] = V{_mm512_shuffle_f32x4(even, even2, 0x88)};
      v[i + 4] = V{_mm512_shuffle_f32x4(odd, odd2, 0x88)};
      v[i + 8] = V{_mm512_shuffle_f32x4(even, even2, 0xdd)};
      v[i + 12] = V{_mm512_shuffle_f32x4(odd, odd2, 0xdd)};
    }
#endif
  }
}
#endif

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SHUNT_CPU_SIMD_TRANSPOSE_INL_H
