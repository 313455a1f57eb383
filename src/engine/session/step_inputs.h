// The dynamic dimensions and inputs of a step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/session/state_slots.h"
#include "engine/session/window_rows.h"
#include "model/definition.h"
#include "shunt/adapters.h"
#include "shunt/plan.h"

namespace shunt {

/// Invalid if there are none, or if one is not of the vocabulary.
Status check_tokens(std::span<const std::int32_t> tokens, std::int64_t vocabulary);

/// The part of a step for one sequence.
struct StepPart {
  std::span<const std::int32_t> tokens;       ///< maybe none
  std::int64_t length = 0;                    ///< tokens before these
  std::int64_t outputs = 0;                   ///< number of last tokens whose logits are made
  std::span<const std::int64_t> blocks = {};  ///< BlockPool::blocks(): of all these tokens
  SlotPair slots = {};                        ///< of the states
  std::int64_t second_text = -1;              ///< SequenceTokens::second_text
  std::span<const AdapterUse> adapters = {};  ///< uses_with_effect()
  std::vector<WindowTable> windows = {};      ///< by window: the blocks that tokens are read from
};

/// For a plan of a step's graph: computes tokens of some sequences, none of them twice. Tokens and
/// logits follow each other as the sequences do. The number of cache rows is rounded up to a
/// multiple of `granularity` (row_granularity()), but not beyond those that there are. No token
/// reads the added rows.
Status fill_step(Plan& plan, const StepGraph& step, std::span<const StepPart> parts,
                 std::int64_t granularity = 1);
/// The granularity of the number of cache rows for the devices that compute a plan: the
/// least common multiple of DeviceInfo::dynamic_dim_granularity; at most `context`. 1 on the CPU
/// alone.
std::int64_t row_granularity(const Plan& plan, std::int64_t context);
/// The same for the only sequence, whose cache rows are in order. `adapters`: as in StepPart.
Status fill_step(Plan& plan, const StepGraph& step, std::span<const std::int32_t> tokens,
                 std::int64_t length, std::int64_t outputs, std::span<const AdapterUse> adapters);

}  // namespace shunt
