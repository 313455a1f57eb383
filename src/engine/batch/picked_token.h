// The next token of a request, from its logits.
#pragma once

#include "shunt/batcher.h"

namespace shunt {

/// The event of the next token. InvalidArgument if no token is left: all
/// logits are not numbers, or the filter rules all of them out.
Result<BatchEvent> pick_token(const BatchRequest& request, Sampler& sampler,
                              std::span<const std::int32_t> picked, std::span<const float> logits);

}  // namespace shunt
