/// \file
/// Reranking: how well documents answer a query, by a model that reads both together.
///
/// \code
/// SHUNT_ASSIGN(const auto model, Model::load("reranker.gguf", registry, {.embeddings = true}));
/// SHUNT_ASSIGN(const auto reranker, Reranker::create(model));
/// SHUNT_ASSIGN(const auto scores, reranker->rank("a query", documents));
/// \endcode
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/embed.h"
#include "shunt/error.h"

namespace shunt {

struct RerankOptions {
  /// Of a decoder: the text that it reads, with "{query}" and "{document}" in their places. Control
  /// tokens are read in it, but not in queries and documents. Empty: the file's own,
  /// tokenizer.chat_template.rerank. Ignored for encoders, which read both texts as a pair.
  std::string prompt = {};
  /// Tokens that are computed at once. A query and a document together have at most as many.
  std::int64_t batch = 512;
  std::int64_t sequences = 8;  ///< documents that are computed at once
  /// As SessionOptions::adapters. Of a decoder without a classifier head they may not change the
  /// matrix that makes its logits.
  std::vector<AdapterUse> adapters = {};
};

/// The prompt that Qwen3-Reranker is published with.
std::string_view qwen3_rerank_prompt();

/// Computes scores: larger ones for better documents. Not for use by several threads at once.
///
/// - Of a classifier head of one score: that score, which may be any number. An encoder's is that
///   of its pooling, a decoder's that of its last token.
/// - Of another decoder, from its last token: the probability of "yes" beside "no". They are the
///   scores of its classifier head that have these names, else the logits of the tokens.
///
/// A decoder reads its prompt as it is: no token of the tokenizer is put before or after it.
class Reranker {
 public:
  /// Invalid for a model that gives logits (LoadOptions::embeddings) and for a prompt without
  /// "{query}" or "{document}". Unsupported for adapters that change the scores' matrix, and for a
  /// model that can't rank, with the reason; otherwise the errors of Session::create().
  static Result<std::unique_ptr<Reranker>> create(std::shared_ptr<const Model> model,
                                                  const RerankOptions& options = {});
  ~Reranker();
  /// The score of each document. Invalid, naming the document by its number, if one is too long
  /// with the query; all are checked first.
  Result<std::vector<float>> rank(std::string_view query, std::span<const std::string> documents,
                                  const std::atomic<bool>* cancel = nullptr);
  /// The same for tokens, with all around them.
  Result<std::vector<float>> rank_tokens(std::span<const EmbedTokens> texts,
                                         const std::atomic<bool>* cancel = nullptr);

 private:
  struct State;
  explicit Reranker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shunt
