/// \file
/// Embeddings: texts as vectors, whose products say how alike the texts are.
///
/// \code
/// SHUNT_ASSIGN(const auto model, Model::load("bge.gguf", registry, {.embeddings = true}));
/// SHUNT_ASSIGN(const auto embedder, Embedder::create(model));
/// SHUNT_ASSIGN(const auto vectors, embedder->embed({"a text", "another"}));
/// \endcode
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shunt/engine.h"
#include "shunt/error.h"
#include "shunt/pooling.h"

namespace shunt {

struct EmbedOptions {
  /// If not given: that of the file, else kMean for encoders and kLast for other models.
  std::optional<EmbeddingPooling> pooling = {};
  bool normalize = true;  ///< to a length of 1
  /// The first elements of vectors, for models that allow it; normalised after they are cut. 0:
  /// all.
  std::int64_t dimensions = 0;
  /// Tokens that are computed at once, at most 2^20. A text has at most as many, and at most the
  /// model's context.
  std::int64_t batch = 512;
  std::int64_t sequences = 8;             ///< texts that are computed at once, at most 4096
  std::vector<AdapterUse> adapters = {};  ///< as SessionOptions::adapters
  /// In front of each text of embed(), as a prompt of the model's file (EmbedPrompts). Control
  /// tokens that it spells out are read; those in texts stay text.
  std::string prompt = {};
};

/// The tokens of one text, or of two that a model compares.
struct EmbedTokens {
  std::vector<std::int32_t> tokens = {};
  std::int64_t second_text = -1;  ///< as SequenceTokens::second_text
};

/// The vector of a text, or one for each of its tokens with EmbeddingPooling::kNone.
using Embedding = std::vector<std::vector<float>>;

/// Computes embeddings. Not for use by several threads at once.
class Embedder {
 public:
  /// Invalid for a model that gives logits, and for dimensions beyond its width; otherwise the
  /// errors of Session::create().
  static Result<std::unique_ptr<Embedder>> create(std::shared_ptr<const Model> model,
                                                  const EmbedOptions& options = {});
  ~Embedder();
  /// Of tokens as the model's tokenizer makes them of texts. Invalid if a text has no tokens, or
  /// too many.
  Result<std::vector<Embedding>> embed_tokens(std::span<const std::vector<std::int32_t>> texts,
                                              const std::atomic<bool>* cancel = nullptr);
  /// The same of texts, or of pairs of them.
  Result<std::vector<Embedding>> embed_tokens(std::span<const EmbedTokens> texts,
                                              const std::atomic<bool>* cancel = nullptr);
  /// The same of texts. The errors of the tokenizer name the text by its number.
  Result<std::vector<Embedding>> embed(std::span<const std::string> texts,
                                       const std::atomic<bool>* cancel = nullptr);
  /// Numbers of each vector.
  std::int64_t dimensions() const;
  EmbeddingPooling pooling() const;

 private:
  struct State;
  explicit Embedder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shunt
