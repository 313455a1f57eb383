// The next token of a request, and the score of one of its prompt, from logits.
#pragma once

#include "shunt/batcher.h"

namespace shunt {

/// The event of the next token. InvalidArgument if no token is left: all
/// logits are not numbers, or the filter rules all of them out.
Result<BatchEvent> pick_token(const BatchRequest& request, Sampler& sampler,
                              std::span<const std::int32_t> picked, std::span<const float> logits);

/// The event of a token of the prompt, which these logits predict. Its log-probability is not a
/// number if a logit is not.
BatchEvent score_token(std::int32_t token, std::int64_t alternatives,
                       std::span<const float> logits);

}  // namespace shunt
