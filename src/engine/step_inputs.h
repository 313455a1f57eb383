// What a step is told: its extents and its inputs.
#pragma once

#include <cstdint>
#include <span>

#include "model/definition.h"
#include "shunt/plan.h"

namespace shunt {

/// Invalid if there are none, or if one is not of the vocabulary.
Status check_tokens(std::span<const std::int32_t> tokens, std::int64_t vocabulary);

/// For a plan of a step's graph: computes tokens that follow `length` others; logits of the last
/// `outputs` of them.
Status fill_step(Plan& plan, const StepGraph& step, std::span<const std::int32_t> tokens,
                 std::int64_t length, std::int64_t outputs);

}  // namespace shunt
