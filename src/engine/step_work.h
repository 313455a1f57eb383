// How much a step of a model has to do at least, whoever does it.
#pragma once

#include <cstdint>

#include "engine/model_state.h"
#include "shunt/peaks.h"

namespace shunt {

/// Of a step of so many tokens, with the logits of the last one or of none: the multiply-adds of
/// products with weights, by the type that the weights have, and the bytes of all weights, each
/// read once. What attention does with the cache is not in it.
Result<Amounts> step_work(const ModelState& model, const StepShape& shape, bool has_output);

}  // namespace shunt
