// Splitting a model's weights among its devices.
#pragma once

#include <span>
#include <string>

#include "engine/model_state.h"

namespace shunt {

/// Splits the model's definition as LoadOptions::split says, and notes which device each part is
/// meant for. Before anything is loaded. Invalid, naming numbers, for shares that are out of range,
/// a single one, more than there are devices, or more than there are pieces to split; Unsupported
/// for an architecture that can't be split. Without shares, the model is not split if there is at
/// most one device in addition to the CPU. `names`: the devices as the user named them; Invalid for
/// shares if the CPU comes before another device. Pins by the name of a whole weight then hold for
/// its parts.
Status split_weights(ModelState& model, const SplitOptions& split,
                     std::span<const std::string> names = {});

}  // namespace shunt
