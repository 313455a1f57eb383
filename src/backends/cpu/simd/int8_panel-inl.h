// The layout of panels of codes in memory. Included once for each target.
#if defined(SHUNT_CPU_SIMD_INT8_PANEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_INT8_PANEL_INL_H
#undef SHUNT_CPU_SIMD_INT8_PANEL_INL_H
#else
#define SHUNT_CPU_SIMD_INT8_PANEL_INL_H
#endif

#include <cstddef>
#include <cstdint>

#include "backends/cpu/simd/int8.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

// A panel has a record for each block of 32 elements of k. First come, for 8 fours of elements, the
// fours of all 32 rows. Then come the rows' scales (one or two), then the rows' minimums (none, one
// or two). Columns have such a record as well (int8_columns.cpp). So everything is read in memory
// order, and sums of rows are lanes of a vector.

inline constexpr std::size_t kFourBytes = kInt8Rows * 4;
inline constexpr std::size_t kCodeBytes = 8 * kFourBytes;

constexpr std::size_t panel_block_bytes(std::size_t scales, std::size_t mins) {
  return kCodeBytes + (scales + mins) * kFourBytes;
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SHUNT_CPU_SIMD_INT8_PANEL_INL_H
