// The types that have codes. Included once for each target.
#if defined(SHUNT_CPU_SIMD_CODE_TABLE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_CODE_TABLE_INL_H
#undef SHUNT_CPU_SIMD_CODE_TABLE_INL_H
#else
#define SHUNT_CPU_SIMD_CODE_TABLE_INL_H
#endif

#include <array>
#include <cstddef>

#include "backends/cpu/simd/codes-inl.h"
#include "backends/cpu/simd/codes_iq-inl.h"
#include "backends/cpu/simd/codes_tq-inl.h"
#include "hwy/highway.h"
#include "shunt/tensor.h"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE::codes {

/// A table by element type of what `make` gives for each format, called as make.operator()<F>();
/// empty entries for all other types.
template <class Entry, class Make>
constexpr std::array<Entry, 64> make_code_table(Make make) {
  std::array<Entry, 64> table{};
  const auto at = [&](DType type) -> Entry& { return table[static_cast<std::size_t>(type)]; };
  at(DType::kQ8_0) = make.template operator()<Q8_0>();
  at(DType::kQ4_0) = make.template operator()<Q4_0>();
  at(DType::kQ4_1) = make.template operator()<Q4_1>();
  at(DType::kQ5_0) = make.template operator()<Q5_0>();
  at(DType::kQ5_1) = make.template operator()<Q5_1>();
  at(DType::kMXFP4) = make.template operator()<MXFP4>();
  at(DType::kQ2_K) = make.template operator()<Q2_K>();
  at(DType::kQ3_K) = make.template operator()<Q3_K>();
  at(DType::kQ4_K) = make.template operator()<Q4_K>();
  at(DType::kQ5_K) = make.template operator()<Q5_K>();
  at(DType::kQ6_K) = make.template operator()<Q6_K>();
  at(DType::kIQ4_NL) = make.template operator()<IQ4_NL>();
  at(DType::kIQ4_XS) = make.template operator()<IQ4_XS>();
  at(DType::kIQ1_S) = make.template operator()<IQ1_S>();
  at(DType::kIQ1_M) = make.template operator()<IQ1_M>();
  at(DType::kIQ2_XXS) = make.template operator()<IQ2_XXS>();
  at(DType::kIQ2_XS) = make.template operator()<IQ2_XS>();
  at(DType::kIQ2_S) = make.template operator()<IQ2_S>();
  at(DType::kIQ3_XXS) = make.template operator()<IQ3_XXS>();
  at(DType::kIQ3_S) = make.template operator()<IQ3_S>();
  at(DType::kTQ1_0) = make.template operator()<TQ1_0>();
  at(DType::kTQ2_0) = make.template operator()<TQ2_0>();
  return table;
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE::codes
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // SHUNT_CPU_SIMD_CODE_TABLE_INL_H
