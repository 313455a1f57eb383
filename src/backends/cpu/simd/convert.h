// Rows of any element type to F32 and back: the results of DTypeTrait's decode and encode, bit by
// bit (but for which not-a-number it is), only faster.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/level.h"
#include "shunt/tensor.h"

namespace shunt::cpu::simd {

/// n elements (whole blocks) of a contiguous row to F32.
void decode(Level level, DType from_type, const std::byte* from, float* to, std::int64_t n);
/// n elements (whole blocks) of F32 to a contiguous row of a type that DTypeTrait can encode.
void encode(Level level, const float* from, DType to_type, std::byte* to, std::int64_t n);

}  // namespace shunt::cpu::simd
