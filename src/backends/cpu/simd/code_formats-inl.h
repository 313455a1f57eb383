// The formats that there are. Included once for each target.
#if defined(SHUNT_CPU_SIMD_CODE_FORMATS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_CODE_FORMATS_INL_H
#undef SHUNT_CPU_SIMD_CODE_FORMATS_INL_H
#else
#define SHUNT_CPU_SIMD_CODE_FORMATS_INL_H
#endif

#include "backends/cpu/simd/codes-inl.h"
#include "backends/cpu/simd/codes_iq-inl.h"
#include "backends/cpu/simd/codes_tq-inl.h"
#include "backends/cpu/simd/format_table.h"
#include "hwy/highway.h"

#if HWY_TARGET != HWY_SCALAR

namespace shunt::cpu::simd::HWY_NAMESPACE::codes {

/// Those of all types that have codes.
using CodeFormats =
    FormatList<Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, MXFP4, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS,
               IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S, TQ1_0, TQ2_0>;

}  // namespace shunt::cpu::simd::HWY_NAMESPACE::codes

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // SHUNT_CPU_SIMD_CODE_FORMATS_INL_H
