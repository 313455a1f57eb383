#include "backend_support/number_range.h"

#include <fmt/format.h>

#include <cmath>

namespace shunt {

namespace {

template <class Number>
bool limit_each(std::span<Number> values, Number largest) {
  bool any = false;
  for (Number& value : values) {
    if (!(std::fabs(value) > largest) || std::isinf(value)) continue;
    value = std::copysign(largest, value);
    any = true;
  }
  return any;
}

}  // namespace

NumberRange range_of(std::span<float> values, float largest, bool saturates) {
  NumberRange range = NumberRange::kInside;
  for (float& value : values) {
    if (std::fabs(value) <= largest) continue;
    if (!saturates || !std::isfinite(value)) return NumberRange::kBeyond;
    value = std::copysign(largest, value);
    range = NumberRange::kSaturated;
  }
  return range;
}

bool limit(std::span<float> values, float largest) {
  return limit_each(values, largest);
}

bool limit(std::span<double> values, float largest) {
  return limit_each(values, double{largest});
}

void RangeCounts::count(const std::string& node, bool saturated) {
  const std::lock_guard lock(mutex_);
  ++counts_[{node, saturated}];
}

std::vector<DeviceWarning> RangeCounts::warnings() const {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceWarning> warnings;
  for (const auto& [met, count] : counts_) {
    const auto& [node, saturated] = met;
    warnings.push_back(
        {fmt::format("{} had numbers outside the range of {}, {}", node, format_,
                     saturated ? "which were saturated" : "and was computed on the host instead"),
         count});
  }
  return warnings;
}

}  // namespace shunt
