// Sets of element types that many ops share.
#pragma once

#include <array>

#include "ops/common/cache_types.h"

namespace shunt {

inline constexpr std::array kFloatTypes = {DType::kF32, DType::kF16, DType::kBF16};
/// Types of row, expert and state numbers.
inline constexpr std::array kIdTypes = {DType::kI32, DType::kI64};
/// Types of one element a block.
inline constexpr std::array kPlainTypes = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64,
                                           DType::kI8,  DType::kI16, DType::kI32,  DType::kI64};
/// Types of weights: all but F64 and integers.
inline constexpr std::array kWeightTypes = {
    DType::kF32,     DType::kF16,    DType::kBF16,  DType::kQ8_0,    DType::kQ4_0,  DType::kQ4_1,
    DType::kQ5_0,    DType::kQ5_1,   DType::kQ8_1,  DType::kMXFP4,   DType::kQ2_K,  DType::kQ3_K,
    DType::kQ4_K,    DType::kQ5_K,   DType::kQ6_K,  DType::kQ8_K,    DType::kIQ1_S, DType::kIQ1_M,
    DType::kIQ2_XXS, DType::kIQ2_XS, DType::kIQ2_S, DType::kIQ3_XXS, DType::kIQ3_S, DType::kIQ4_NL,
    DType::kIQ4_XS,  DType::kTQ1_0,  DType::kTQ2_0};

}  // namespace shunt
