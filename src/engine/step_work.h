// The least work of a step of a model, independent of the device.
#pragma once

#include <cstdint>

#include "engine/model_state.h"
#include "shunt/peaks.h"

namespace shunt {

/// Of a step of so many tokens, with the logits of so many of them, as speeds of models are
/// compared: 2 operations for each token and each weight of a product, by the type that the weight
/// has, but the matrix that makes logits meets those tokens only; and the bytes of all weights,
/// each read once, of embeddings those of the tokens. So it does not hang on how the graph is made:
/// that a last layer need not compute what nobody looks at is to the credit of who leaves it out.
/// Attention's work with the cache is not in it.
Result<Amounts> step_work(const ModelState& model, const StepShape& shape);

}  // namespace shunt
