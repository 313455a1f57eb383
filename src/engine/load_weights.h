#pragma once

#include "engine/model_state.h"

namespace shunt {

/// Decides which device each weight goes to, and brings it there: for the CPU the mapped file is
/// the memory.
Status load_weights(ModelState& model, const LoadOptions& options);

}  // namespace shunt
