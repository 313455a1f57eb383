// A step placed on memory as it was fitted, while nothing is allocated yet: as it will run, with
// the reasons, and what a policy makes of it.
#pragma once

#include <string>
#include <vector>

#include "engine/fit.h"
#include "engine/model_state.h"

namespace shunt {

struct FittedStep {
  StepGraph step;
  Placement placement;  ///< over all devices of the model, also those that got nothing
};

/// `fit` is what fit_model() made of `request`. What a better device would compute if it had the
/// room has been refused by it, for memory, with the numbers. Allocates nothing.
Result<FittedStep> place_fitted(const ModelState& model, const StepShape& shape,
                                const FitRequest& request, const Fit& fit);

/// What a policy makes of the step of a request that falls back most.
struct Verdict {
  std::size_t fell_back = 0;
  std::vector<std::string> lines;  ///< to be said once it is sure
};

/// Unsupported if the policy denies one of the request's steps; policy.say has then got the notes
/// of its placement.
Result<Verdict> judge_fit(const ModelState& model, const FitRequest& request, const Fit& fit,
                          const FallbackPolicy& policy);

}  // namespace shunt
