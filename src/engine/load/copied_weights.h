// Weights that the CPU copies to memory of its own, instead of using them in place in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/model_state.h"

namespace shunt {

/// Whether weights are copied without an explicit request: for a CPU alone, if they take at most
/// half of the available memory. `available`: bytes; none if that is not known.
bool copies_unasked(std::size_t devices, std::uint64_t bytes,
                    std::optional<std::uint64_t> available);

/// Queries each device for the memory type that it prefers for a weight, and uses it where the
/// answer is the same in each of these steps. Fills in WeightRecord::layouts, and
/// WeightRecord::copy according to weight_mode. Before that, a tied output is split into two leaves
/// (tied_output.h). Before anything is loaded; fails if a step can't be built.
Status choose_weight_memory(ModelState& model, std::span<const StepShape> steps);

}  // namespace shunt
