// Weights that the CPU computes with in memory of its own, not where they lie in the mapped file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/model_state.h"

namespace shunt {

/// Whether weights that nobody has asked to be copied are: for a CPU alone, if they take at most
/// half of what is left. `available`: bytes; none if that is not known.
bool copies_unasked(std::size_t devices, std::uint64_t bytes,
                    std::optional<std::uint64_t> available);

/// Fills in ModelState::copied as its weight_mode says: the weights that the CPU wants in the same
/// memory in each of these steps. Before anything is loaded; fails if a step can't be built.
Status choose_copied(ModelState& model, std::span<const StepShape> steps);

}  // namespace shunt
