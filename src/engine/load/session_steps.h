// The steps for which loading a model reserves memory.
#pragma once

#include <vector>

#include "model/definition.h"
#include "shunt/engine.h"
#include "shunt/plan.h"

namespace shunt {

/// The same options with defaults in place of 0, limited to the possible maximum. Invalid for
/// invalid options.
Result<SessionOptions> complete(const SessionOptions& options, const ModelInfo& model);

/// Adapters with an effect that a sequence of the session uses when it begins; at least 1.
std::int64_t adapter_uses(const SessionOptions& options);

/// A step of `tokens` tokens and the logits of `outputs` of them. `options` are complete.
StepShape step_shape(const SessionOptions& options, std::int64_t tokens, std::int64_t outputs);

/// The steps whose plans a session has from the start, the largest first: a batch, and single
/// tokens. With several sequences there are 64 and 8 tokens, too: generating for a few sequences
/// needs no memory of a whole batch. `options` are complete.
std::vector<StepShape> session_steps(const SessionOptions& options);
/// The smallest of these that has room for `tokens`; the largest if there are more.
StepShape session_step(const SessionOptions& options, std::int64_t tokens);

/// How many steps of a plan a session has under way at once: one for each asynchronous device that
/// computes, and one for those that are not, at most 4. So devices work on different parts of a
/// prompt. 1 without an asynchronous device, where a step needs the one before (single tokens), or
/// where a prompt is one step.
int steps_in_flight(const StepGraph& step, const Graph& graph, const Placement& placement);

}  // namespace shunt
