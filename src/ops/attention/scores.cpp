#include "ops/attention/scores.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ops/attention/attention.h"
#include "ops/common/checks.h"

namespace shunt {

double alibi_slope(float max_bias, std::int64_t heads, std::int64_t head) {
  if (max_bias == 0) return 1;
  const auto n = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  const std::int64_t halves = head < n ? 2 * (head + 1) : 2 * (head - n) + 1;
  return std::exp2(-static_cast<double>(max_bias) * static_cast<double>(halves) /
                   (2 * static_cast<double>(n)));
}

Status check_max_bias(float max_bias) {
  // The smallest slope is 2^-max_bias: a mask of minus infinity must stay one in F32.
  constexpr float kMost = 100;
  if (max_bias >= 0 && max_bias <= kMost) return ok();
  return invalid("max_bias is {}, which is not a number from 0 to {}", max_bias, kMost);
}

Status check_mask(const Tensor* mask, const Shape& scores, float max_bias) {
  SHUNT_TRY(check_max_bias(max_bias));
  if (mask != nullptr) return expect_mask(*mask, scores);
  if (max_bias != 0) return invalid("max_bias is {}, but there is no mask", max_bias);
  return ok();
}

Status check_sinks(const Tensor* sinks, const Dim& heads) {
  if (sinks == nullptr) return ok();
  SHUNT_TRY(expect_type("sinks", *sinks, {DType::kF32}));
  SHUNT_TRY(expect_dims("sinks", *sinks, 1));
  return expect_dim("sinks", *sinks, 0, heads, "the number of heads");
}

double RefMask::at(std::int64_t n, std::int64_t t, std::int64_t h, std::int64_t s) const {
  if (mask_ == nullptr) return 0;
  return alibi_slope(max_bias_, heads_, h) *
         mask_->at(n, t, h % mask_->sizes[2], s % mask_->sizes[3]);
}

void reference_softmax(std::span<double> z, const RefTensor* sinks, std::int64_t h) {
  constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
  const double sink = sinks == nullptr ? kMinusInfinity : sinks->at(h);
  double largest = sink;
  for (const double logit : z) {
    if (logit > largest || std::isnan(logit)) largest = logit;  // and not-a-number stays
  }
  if (largest == kMinusInfinity) {
    std::ranges::fill(z, 0);
    return;
  }
  double sum = std::exp(sink - largest);
  for (double& logit : z) sum += logit = std::exp(logit - largest);
  for (double& weight : z) weight /= sum;
}

}  // namespace shunt
