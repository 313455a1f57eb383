/// \file
/// How well a model predicts a text. Include it to compare models, or types of weights of one
/// model, on the same text.
///
/// \code
/// SHUNT_ASSIGN(const auto tokens, model->tokenizer().encode(text));
/// SHUNT_ASSIGN(const Perplexity result, perplexity(model, tokens));
/// std::cout << result.value << " over " << result.tokens << " tokens\n";
/// \endcode
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "shunt/engine.h"

namespace shunt {

/// A chunk that is scored has at least this many tokens.
inline constexpr std::int64_t kLeastScoredChunk = 4;

/// Tokens of a chunk: as many as are asked for, or if that is 0 the model's own context, at most
/// 512.
inline std::int64_t chunk_length(std::int64_t model_context, std::int64_t asked) {
  constexpr std::int64_t kDefault = 512;
  return asked == 0 ? std::min(model_context, kDefault) : asked;
}

/// exp of the mean negative log-likelihood of the tokens that were scored.
struct Perplexity {
  double value = 0;
  /// Its standard error, if the tokens' likelihoods were independent: value * s / sqrt(tokens),
  /// with s the standard deviation of the negative log-likelihood. Empty for a single token, which
  /// has none.
  std::optional<double> error = {};
  std::uint64_t tokens = 0;  ///< that were scored
  std::uint64_t chunks = 0;  ///< or documents
  double bits = 0;           ///< -log2 of the tokens' likelihood, all together
};

/// Options of perplexity() and perplexity_of_documents().
struct PerplexityOptions {
  /// `context` is the number of tokens of a chunk, at least 4; 0: the model's own, at most 512. Of
  /// documents see perplexity_of_documents.
  SessionOptions session = {};
  /// Called after each chunk (or document) with the result so far and their number; may be
  /// empty.
  std::function<void(const Perplexity& so_far, std::uint64_t chunks)> progress = {};
  /// Once true, the work ends with Cancelled within one step; may be null.
  const std::atomic<bool>* cancel = nullptr;
};

/// Cuts `tokens` (Tokenizer::encode of the whole text) into chunks of n; an incomplete last one is
/// dropped. Each chunk is computed by itself; if the model's tokenizer puts a beginning-of-sequence
/// token in front (then tokens[0] is one), it takes the place of the chunk's first. Scored are the
/// predictions of its tokens n/2 + 1 to n - 1, counted from 0, so that each has at least half of a
/// chunk before it. Invalid if there are fewer than n tokens, or n is too small; Unsupported for a
/// model that computes embeddings and, naming the chunk, if a prediction is not finite.
Result<Perplexity> perplexity(const std::shared_ptr<const Model>& model,
                              std::span<const std::int32_t> tokens,
                              const PerplexityOptions& options = {});

/// Of documents: the i-th is tokens[starts[i]] to tokens[starts[i + 1] - 1]. Each is computed by
/// itself, and all its tokens but the first are scored. In `options`, the context is the most that
/// a document may have; 0: the model's own. Invalid if a document is longer or has less than two
/// tokens, or there is none.
Result<Perplexity> perplexity_of_documents(const std::shared_ptr<const Model>& model,
                                           std::span<const std::int32_t> tokens,
                                           std::span<const std::size_t> starts,
                                           const PerplexityOptions& options = {});

}  // namespace shunt
