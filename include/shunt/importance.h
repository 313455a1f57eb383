/// \file
/// Computing the importance matrix of a model from a text.
///
/// \code
/// SHUNT_ASSIGN(const auto tokens, model->tokenizer().encode(text));
/// SHUNT_ASSIGN(const ImportanceMatrix matrix, gather_importance(*model, tokens));
/// SHUNT_TRY(write_importance("imatrix.gguf", matrix));
/// \endcode
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "shunt/engine.h"
#include "shunt/importance_matrix.h"

namespace shunt {

struct ImportanceOptions {
  /// `context` is the number of tokens of a chunk; 0: the model's own, at most 512. At most `batch`
  /// of them are computed at once. The activations are those with `adapters`.
  SessionOptions session = {};
  std::uint64_t most_chunks = 0;  ///< 0: all of the text
  /// Called after each chunk, with the number done and the total; may be empty.
  std::function<void(std::uint64_t done, std::uint64_t chunks)> progress = {};
  /// Once true, the work ends with Cancelled within one node; may be null.
  const std::atomic<bool>* cancel = nullptr;
};

/// Cuts `tokens` (Tokenizer::encode of the whole text) into chunks; an incomplete last one is
/// dropped. Each is computed by itself, and if the tokenizer puts a beginning-of-sequence token in
/// front (then tokens[0] is one), it takes the place of the chunk's first. The result has an entry
/// for each weight of a matmul or matmul_id, by the name of its tensor; datasets are the caller's
/// to fill in. Adapters' own matrices have none. Invalid if there is not one whole chunk, for
/// chunks of an encoder that are larger than a batch, and for adapters that a session would refuse.
/// Unsupported, naming the chunk and the weight, if an activation is not finite.
Result<ImportanceMatrix> gather_importance(const Model& model, std::span<const std::int32_t> tokens,
                                           const ImportanceOptions& options = {});

}  // namespace shunt
