// The steps that room is left for when a model is loaded.
#pragma once

#include <vector>

#include "model/definition.h"
#include "shunt/engine.h"

namespace shunt {

/// The steps whose plans a session has from the start: prompts, and single tokens.
std::vector<StepShape> session_steps(const ModelInfo& model, const SessionOptions& options);

}  // namespace shunt
