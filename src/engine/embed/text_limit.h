// The most tokens of a text that is computed in one step.
#pragma once

#include <cstdint>
#include <string_view>

#include "shunt/engine.h"

namespace shunt {

struct TextLimit {
  std::int64_t tokens = 0;
  std::string_view reason;  ///< for messages
};

/// Of a model and batches of `batch` tokens: the smaller of the batch and the context.
inline TextLimit text_limit(const ModelInfo& model, std::int64_t batch) {
  if (batch < model.context) return {batch, "the batch size; see --batch"};
  return {model.context, "the context of the model"};
}

}  // namespace shunt
