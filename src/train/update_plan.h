// Makes a step of all gradients: their joint length, and the optimizer.
#pragma once

#include <memory>

#include "shunt/plan.h"
#include "shunt/train.h"
#include "train/parameters.h"

namespace shunt {

class UpdatePlan {
 public:
  static Result<UpdatePlan> create(const Parameters& parameters, const TrainOptions& options,
                                   Device& cpu);

  /// The square root of the sum of squares of all gradients.
  Result<double> gradient_length();
  /// Step number `step`, from 1 on, with gradients times `factor`.
  Status run(std::int64_t step, double rate, double factor);

 private:
  std::unique_ptr<Plan> length_;
  Value squares_;
  std::unique_ptr<Plan> update_;
  Value step_;
  Value rate_;
  Value factor_;
};

}  // namespace shunt
