// Tokens and logits for tests of sessions with several sequences.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "support/models.h"

namespace shunt::test {

using Tokens = std::vector<std::int32_t>;

/// The vocabulary of session_model().
inline constexpr std::int64_t kSessionVocabulary = 300;

/// A model of few weights.
inline SynthOptions session_model() {
  SynthOptions options;
  options.width = 32;
  options.feed_forward = 64;
  options.vocabulary = kSessionVocabulary;
  return options;
}

/// Random tokens of its vocabulary; the same seed gives the same tokens.
inline Tokens some_tokens(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  Tokens tokens(count);
  for (std::int32_t& token : tokens)
    token = static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(kSessionVocabulary));
  return tokens;
}

/// Other shapes of a step change the order in which F32 numbers are added up. The effect is a few
/// units in the last place of logits that are about 1. Sequences that differ in a single token, or
/// that see a key of another one, are apart by thousands of times as much
/// (EngineSequences.ChangedTokenChangesLogits).
inline constexpr float kLogitsTolerance = 2e-5F;

/// The largest difference; not a number if one of them is not.
inline float difference(std::span<const float> a, std::span<const float> b) {
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float apart = std::fabs(a[i] - b[i]);
    if (std::isnan(apart)) return apart;
    most = std::max(most, apart);
  }
  return most;
}

}  // namespace shunt::test
