#pragma once

#include "engine/model_state.h"

namespace shunt {

/// Decides which device each weight goes to, and brings it there: the CPU uses the mapped
/// file, or copies as ModelState::copied says. Weights that the model has already stay. After an
/// error it has those of the devices that are done; Error::device() is the one that failed, if one
/// did.
Status load_weights(ModelState& model, const LoadOptions& options);

/// The memory of the weights that are loaded.
Ledger weights_ledger(const ModelState& model);

}  // namespace shunt
