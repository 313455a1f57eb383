#include "engine/batch/step_budget.h"

#include <algorithm>
#include <cmath>

namespace shunt {

namespace {

/// The mean of about the last four.
void learn(double& mean, double value) {
  constexpr double kShare = 0.25;
  mean = mean == 0 ? value : mean + kShare * (value - mean);
}

}  // namespace

void StepBudget::observe(std::int64_t generating, std::int64_t prompt, double seconds) {
  if (prompt == 0) {
    if (generating == 0) return;
    if (!is_of_so_many(generating)) base_ = 0;
    learn(base_, seconds);
    base_requests_ = generating;
    base_age_ = 0;
    return;
  }
  if (generating > 0) ++base_age_;
  const double base = generating > 0 ? base_ : 0;
  learn(per_token_, std::max(seconds - base, 0.0) / static_cast<double>(prompt));
}

bool StepBudget::is_of_so_many(std::int64_t generating) const {
  return generating <= 2 * base_requests_ && base_requests_ <= 2 * generating;
}

std::int64_t StepBudget::prompt_tokens(std::int64_t generating, std::int64_t most) const {
  if (generating == 0) return std::max<std::int64_t>(most, 1);
  if (std::isinf(interval_)) return std::max<std::int64_t>(most, 1);
  if (base_requests_ == 0 || base_age_ >= kOld) return 0;
  if (base_age_ >= kYoung && !is_of_so_many(generating)) return 0;
  if (most <= 1) return 1;
  constexpr std::int64_t kFirst = 32;
  if (per_token_ <= 0) return std::min(kFirst, most);
  const double bound = interval_ > 0 ? interval_ : std::max(2 * base_, kLeast);
  const double tokens = (bound - base_) / per_token_;
  if (!(tokens < static_cast<double>(most))) return most;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(tokens));
}

}  // namespace shunt
