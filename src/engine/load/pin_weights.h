#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/model_state.h"

namespace shunt {

/// Lets each device pin the weights that it has sent from host memory in one of these steps, if it
/// can: fills in WeightStore::pinned. Ranges that are pinned there already are kept, and the
/// memory of these must still be there. `available`: bytes of host memory that are left; at most
/// half of them are pinned. None: there is no limit. Notes tell which weights were pinned, and
/// which were not, with the reason. Weights must be where they are to be.
void pin_streamed_weights(ModelState& model, std::span<const StepShape> steps,
                          std::optional<std::uint64_t> available);

}  // namespace shunt
