#include "backend_support/score_mask.h"

#include <algorithm>
#include <limits>

#include "backend_support/level_rows.h"
#include "ops/attention/attention.h"

namespace shunt {

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

Hidden hide(const Sizes& sizes, float* mask, float lowest) {
  Hidden hidden;
  for (std::int64_t row = 0; row < count_rows(sizes); ++row, mask += sizes[0]) {
    bool all = true;
    for (float& value : std::span(mask, static_cast<std::size_t>(sizes[0]))) {
      all = all && value == -std::numeric_limits<float>::infinity();
      if (!(value <= lowest)) continue;
      hidden.some = true;
      value = lowest;
    }
    if (all) hidden.rows.push_back(row);
  }
  return hidden;
}

void keep_shown(const Sizes& sizes, float* mask, float lowest) {
  std::transform(mask, mask + count_rows(sizes) * sizes[0], mask,
                 [lowest](float value) { return value <= lowest ? 0.0F : 1.0F; });
}

void add_scores(const HostTensor& scores, float scale, float* row, float* mask) {
  const Sizes& n = scores.sizes;
  for (std::int64_t i = 0; i < count_rows(n); ++i, mask += n[0]) {
    read_floats(scores, scores.row(i % n[1], i / n[1] % n[2], i / n[1] / n[2]), 0, n[0], row);
    level(mask, n[0], [&](std::int64_t e) { return double{row[e]} * scale + double{mask[e]}; });
  }
}

void keep_rows(const Sizes& sizes, const std::vector<std::int64_t>& hidden, float* to) {
  std::fill_n(to, count_rows(sizes) * sizes[0], 1.0F);
  for (const std::int64_t row : hidden) std::fill_n(to + row * sizes[0], sizes[0], 0.0F);
}

}  // namespace shunt
