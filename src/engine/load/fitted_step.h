// A step placed with the fitted memory before anything is allocated: the later placement with its
// reasons, and the decision of a fallback policy.
#pragma once

#include <string>
#include <vector>

#include "engine/load/fit.h"
#include "engine/model_state.h"

namespace shunt {

struct FittedStep {
  std::shared_ptr<const StepGraph> step;
  Placement placement;  ///< over all devices of the model, also those that got nothing
};

/// `fit` is the result of fit_model() for `request`. Where a better device lacks the room for a
/// node, it refuses the node for memory, with the numbers. Allocates nothing.
Result<FittedStep> place_fitted(const ModelState& model, const StepShape& shape,
                                const FitRequest& request, const Fit& fit);

/// The decision of a policy on the step of a request with the most fallbacks.
struct Verdict {
  std::size_t fell_back = 0;
  std::vector<std::string> lines;  ///< to be printed once the decision is final
};

/// Unsupported if the policy denies one of the request's steps; policy.log has then got the notes
/// of its placement.
Result<Verdict> judge_fit(const ModelState& model, const FitRequest& request, const Fit& fit,
                          const FallbackPolicy& policy);

}  // namespace shunt
