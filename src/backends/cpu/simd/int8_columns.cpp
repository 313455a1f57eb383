#include <cstring>

#include "backends/cpu/simd/int8.h"
#include "backends/cpu/simd/int8_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/int8_columns.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/dispatch.h"
#include "backends/cpu/simd/int8_round-inl.h"
#include "hwy/highway.h"

// Columns that are stored together have a record for each block of 32 elements of k. First come,
// for 8 fours of elements, the fours of all columns. Then come the columns' scales. Last come, by
// scale of the weights, the start values of sums, or by minimum, sums times the scale.

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

/// No type has codes.
void QuantizeColumns(const float*, std::size_t, std::size_t, std::size_t, std::size_t, Int8Need,
                     std::byte*) {}

#else

void QuantizeColumns(const float* x, std::size_t x_stride, std::size_t count, std::size_t together,
                     std::size_t k, Int8Need need, std::byte* to) {
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

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shunt::cpu::simd {

HWY_EXPORT(QuantizeColumns);

namespace {
std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}
}  // namespace

void quantize_columns(Level level, const float* x, std::int64_t x_stride, std::int64_t count,
                      std::int64_t together, std::int64_t k, Int8Need need, std::byte* to) {
  SHUNT_DISPATCH(level, QuantizeColumns)
  (x, size(x_stride), size(count), size(together), size(k), need, to);
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
