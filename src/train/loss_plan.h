// A plan that computes the loss of some rows of tokens, and may sum up its gradients.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "model/definition.h"
#include "shunt/plan.h"
#include "train/parameters.h"
#include "train/rows.h"

namespace shunt {

class LossPlan {
 public:
  /// The loss alone, or with the gradients by all parameters, which are added to Part::kGradient.
  static Result<LossPlan> create(const ModelDefinition& model, const LossShape& shape,
                                 const Parameters& parameters, bool gradients, Device& cpu);

  /// The sum over scored tokens of -ln(probability), times `weight`, as are the gradients.
  Result<double> run(const TrainingRows& rows, double weight, const std::atomic<bool>* cancel);

 private:
  Status fill(const TrainingRows& rows, float label);

  std::unique_ptr<Plan> plan_;
  LossGraph graph_;
  std::int64_t vocabulary_ = 0;
  std::vector<std::int32_t> labelled_;  // labels that are not zero, as TrainingRows::next
};

}  // namespace shunt
