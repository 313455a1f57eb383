// The least work of a step of a model, independent of the device.
#pragma once

#include <cstdint>

#include "engine/model_state.h"
#include "shunt/peaks.h"

namespace shunt {

/// Of a step of shape.tokens tokens, with the logits of shape.outputs of them, as speeds of models
/// are compared. Each token counts 2 operations for each weight of a product, by the type that the
/// weight has. The matrix that makes logits meets only the tokens whose logits are made. The bytes
/// of all weights count, each read once; of embeddings those of the tokens. So the result does not
/// depend on how the graph is made. A last layer need not compute results that are never read: a
/// graph that omits them has a higher share. Attention's work with the cache is not in it.
Result<Amounts> step_work(const ModelState& model, const StepShape& shape);

}  // namespace shunt
