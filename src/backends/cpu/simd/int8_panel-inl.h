// How panels of codes and the columns that they are multiplied with lie in memory. Included once
// for each target.
#if defined(SHUNT_CPU_SIMD_INT8_PANEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHUNT_CPU_SIMD_INT8_PANEL_INL_H
#undef SHUNT_CPU_SIMD_INT8_PANEL_INL_H
#else
#define SHUNT_CPU_SIMD_INT8_PANEL_INL_H
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/simd/int8.h"
#include "backends/cpu/simd/int8_round-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

// A panel has a record for each block of 32 elements of k: for 8 fours of elements the fours of all
// 32 rows; then the rows' scales (one or two), then the rows' minimums (none, one or two). Columns
// have one as well: for 8 fours of elements the fours of 6 columns (or of those that are multiplied
// together); then the columns' scales; then, by scale of the weights, what sums start from, or by
// minimum, sums times the scale. So everything is read in the order it lies in, and sums of rows
// are lanes of a vector.

inline constexpr std::size_t kFourBytes = kInt8Rows * 4;
inline constexpr std::size_t kCodeBytes = 8 * kFourBytes;

constexpr std::size_t panel_block_bytes(std::size_t scales, std::size_t mins) {
  return kCodeBytes + (scales + mins) * kFourBytes;
}

/// Rounds `count` columns, of `together` that have a place.
HWY_INLINE void quantize_columns(const float* x, std::size_t x_stride, std::size_t count,
                                 std::size_t together, std::size_t k, Int8Need need,
                                 std::byte* to) {
  const auto scales = static_cast<std::size_t>(need.scales);
  const auto mins = static_cast<std::size_t>(need.mins);
  const std::size_t runs = mins == 0 ? scales : mins;
  const std::size_t run = 32 / runs;
  const std::size_t number = together * 4;
  for (std::size_t first = 0; first < k; first += 32, to += (9 + runs) * number) {
    for (std::size_t c = 0; c < count; ++c) {
      const Rounded block = round_block(x + c * x_stride + first);
      for (std::size_t four = 0; four < 8; ++four) {
        std::memcpy(to + four * number + 4 * c, block.bytes + 4 * four, 4);
      }
      std::memcpy(to + 8 * number + 4 * c, &block.scale, 4);
      for (std::size_t i = 0; i < runs; ++i) {
        std::int32_t sum = 0;
        for (std::size_t e = 0; e < run; ++e) sum += block.bytes[i * run + e];
        std::byte* at = to + (9 + i) * number + 4 * c;
        if (mins == 0) {
          sum *= -128;
          std::memcpy(at, &sum, 4);
        } else {
          const float scaled = block.scale * static_cast<float>(sum);
          std::memcpy(at, &scaled, 4);
        }
      }
    }
  }
}

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SHUNT_CPU_SIMD_INT8_PANEL_INL_H
