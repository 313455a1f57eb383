#include "backends/zdnn/mask.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attention/attention.h"

namespace shunt::zdnn {

namespace {

/// Far below any score, and far from where a difference of two would be beyond DLFLOAT16.
constexpr float kMasked = -0x1p26F;

}  // namespace

Sizes mask_sizes(const Sizes& mask, const Sizes& scores, float max_bias) {
  Sizes sizes = mask;
  if (max_bias != 0) sizes[2] = scores[2];
  return sizes;
}

void repeat_mask(const HostTensor& mask, const Sizes& sizes, float max_bias, float* to) {
  if (mask.data == nullptr) {
    std::fill_n(to, count_rows(sizes) * sizes[0], 0.0F);
    return;
  }
  gather(mask, sizes, to);
  if (max_bias == 0) return;
  for (std::int64_t i = 0; i < sizes[2] * sizes[3]; ++i) {
    const auto slope = static_cast<float>(alibi_slope(max_bias, sizes[2], i % sizes[2]));
    for (std::int64_t j = 0; j < sizes[0] * sizes[1]; ++j, ++to) *to *= slope;
  }
}

void take_off_largest(float* row, std::int64_t n) {
  const float largest = *std::max_element(row, row + n);
  if (!std::isfinite(largest)) return;
  std::transform(row, row + n, row, [largest](float z) { return z - largest; });
}

std::vector<std::int64_t> hide(const Sizes& sizes, float* mask) {
  std::vector<std::int64_t> blind;
  for (std::int64_t row = 0; row < count_rows(sizes); ++row, mask += sizes[0]) {
    const auto minus_infinity = [](float value) {
      return value == -std::numeric_limits<float>::infinity();
    };
    if (std::all_of(mask, mask + sizes[0], minus_infinity)) blind.push_back(row);
    std::replace_if(
        mask, mask + sizes[0], [](float value) { return value < kMasked; }, kMasked);
  }
  return blind;
}

void show(const Sizes& sizes, const std::vector<std::int64_t>& blind, float* to) {
  std::fill_n(to, count_rows(sizes) * sizes[0], 1.0F);
  for (const std::int64_t row : blind) std::fill_n(to + row * sizes[0], sizes[0], 0.0F);
}

}  // namespace shunt::zdnn
