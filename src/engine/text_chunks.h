// How a text is cut into chunks that a model computes one by one.
#pragma once

#include <algorithm>
#include <cstdint>

namespace shunt {

/// A chunk that is scored has at least this many tokens.
inline constexpr std::int64_t kLeastScoredChunk = 4;

/// Tokens of a chunk: as many as are asked for, or if that is 0 the model's own context, at most
/// 512.
inline std::int64_t chunk_length(std::int64_t model_context, std::int64_t asked) {
  constexpr std::int64_t kDefault = 512;
  return asked == 0 ? std::min(model_context, kDefault) : asked;
}

}  // namespace shunt
