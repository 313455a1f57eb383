#include <cmath>
#include <numbers>

#include "shunt/message.h"
#include "shunt/train.h"

namespace shunt {

std::string_view to_string(Optimizer optimizer) {
  return optimizer == Optimizer::kAdamw ? "adamw" : "sgd";
}

namespace {

struct Count {
  std::string_view name;
  std::int64_t TrainOptions::*number;
  std::int64_t low;
  std::int64_t high;
};
constexpr std::int64_t kMany = 1'000'000'000;
constexpr Count kCounts[] = {
    {"context", &TrainOptions::context, 2, 65'536},       {"rows", &TrainOptions::rows, 1, 65'536},
    {"accumulate", &TrainOptions::accumulate, 1, 65'536}, {"steps", &TrainOptions::steps, 1, kMany},
    {"warmup", &TrainOptions::warmup, 0, kMany},
};

struct Bound {
  std::string_view name;
  double TrainOptions::*number;
  bool zero;     ///< is allowed
  double below;  ///< the limit, excluded
};
constexpr double kAny = 1e30;  // as F32 has it
constexpr Bound kBounds[] = {
    {"rate", &TrainOptions::rate, true, kAny},
    {"final_rate", &TrainOptions::final_rate, true, kAny},
    {"beta1", &TrainOptions::beta1, true, 1},
    {"beta2", &TrainOptions::beta2, true, 1},
    {"eps", &TrainOptions::eps, false, kAny},
    {"weight_decay", &TrainOptions::weight_decay, true, kAny},
    {"clip", &TrainOptions::clip, true, kAny},
};

}  // namespace

Status check_train_options(const TrainOptions& options) {
  for (const Count& count : kCounts) {
    const std::int64_t number = options.*count.number;
    if (number >= count.low && number <= count.high) continue;
    return invalid("{} is {}; it must be from {} to {}", count.name, number, count.low, count.high);
  }
  for (const Bound& bound : kBounds) {
    const double number = options.*bound.number;
    if ((bound.zero ? number >= 0 : number > 0) && number < bound.below) continue;
    return invalid("{} is {}; it must be {} 0, and below {}", bound.name, number,
                   bound.zero ? "at least" : "above", bound.below);
  }
  return ok();
}

double learning_rate(const TrainOptions& options, std::int64_t step) {
  if (step <= options.warmup) {
    return options.rate * static_cast<double>(step) / static_cast<double>(options.warmup);
  }
  if (step >= options.steps) return options.final_rate;
  const double done = static_cast<double>(step - options.warmup) /
                      static_cast<double>(options.steps - options.warmup);
  return options.final_rate +
         (options.rate - options.final_rate) * (1 + std::cos(std::numbers::pi * done)) / 2;
}

}  // namespace shunt
