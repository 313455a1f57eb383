#include "shunt/rerank.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/guarded.h"
#include "base/to_size.h"
#include "engine/embed/score_head.h"
#include "engine/embed/text_limit.h"
#include "engine/embed/text_pair.h"
#include "engine/session/sequence_adapters.h"
#include "shunt/message.h"

namespace shunt {

namespace {

constexpr const char* kPromptKey = "tokenizer.chat_template.rerank";
constexpr std::size_t kSlice = 256;  // documents whose tokens and embeddings are kept at once

std::string document_name(std::size_t index) {
  return fmt::format("document {}", index + 1);
}

Result<std::string> prompt_of(const ModelState& model, const RerankOptions& options) {
  if (!options.prompt.empty()) return options.prompt;
  if (model.file.find(kPromptKey) != nullptr) return model.file.get_string(kPromptKey);
  return fail(ErrorCode::kUnsupported,
              "the file has no prompt for reranking ({}), and none is given", kPromptKey);
}

/// The id of a word that is one token.
Result<std::int32_t> token_of(const text::Tokenizer& tokenizer, std::string_view word) {
  SHUNT_ASSIGN(const std::vector<std::int32_t> ids,
               tokenizer.encode(word, {.add_special = false, .parse_special = false}));
  if (ids.size() == 1) return ids[0];
  return fail(ErrorCode::kUnsupported,
              "the model has no classifier head, and \"{}\" is {} of its vocabulary", word,
              counted(ids.size(), "token"));
}

}  // namespace

std::string_view qwen3_rerank_prompt() {
  return "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query "
         "and the Instruct provided. Note that the answer can only be \"yes\" or \"no\"."
         "<|im_end|>\n<|im_start|>user\n<Instruct>: Given a web search query, retrieve relevant "
         "passages that answer the query\n<Query>: {query}\n<Document>: {document}<|im_end|>\n"
         "<|im_start|>assistant\n<think>\n\n</think>\n\n";
}

struct Reranker::State {
  std::shared_ptr<const Model> model;
  std::unique_ptr<Embedder> embedder;
  std::optional<PairPrompt> prompt;  // of a decoder
  ScoreHead head;
  TextLimit limit;  // of a query and a document
  /// The scores for "yes" and "no"; none: there is one score, which is the result.
  std::optional<std::array<std::size_t, 2>> answers;

  Status make_encoder(const ModelState& state) {
    if (model->info().labels.empty()) {
      return fail(ErrorCode::kUnsupported,
                  "the model has no classifier head, which an encoder that ranks documents needs");
    }
    if (model->info().labels.size() != 1) {
      return fail(ErrorCode::kUnsupported,
                  "a classifier head with {}; an encoder that ranks documents has one",
                  counted(model->info().labels.size(), "score"));
    }
    SHUNT_ASSIGN(head, ScoreHead::of_model(state));
    return ok();
  }

  Status make_decoder(const ModelState& state, const RerankOptions& options) {
    SHUNT_ASSIGN(const std::string text, prompt_of(state, options));
    SHUNT_ASSIGN(PairPrompt made, PairPrompt::create(model->tokenizer(), text));
    prompt = std::move(made);
    const std::vector<std::string>& labels = model->info().labels;
    if (labels.empty()) {
      SHUNT_ASSIGN(const std::int32_t yes, token_of(model->tokenizer(), "yes"));
      SHUNT_ASSIGN(const std::int32_t no, token_of(model->tokenizer(), "no"));
      SHUNT_ASSIGN(head, ScoreHead::of_tokens(state, std::array{yes, no}, options.adapters));
      answers = {0, 1};
      return ok();
    }
    SHUNT_ASSIGN(head, ScoreHead::of_model(state));
    if (labels.size() == 1) return ok();
    const auto yes = std::ranges::find(labels, "yes");
    const auto no = std::ranges::find(labels, "no");
    if (labels.size() != 2 || yes == labels.end() || no == labels.end()) {
      return fail(ErrorCode::kUnsupported,
                  "a classifier head with {}; a decoder that ranks documents has one, or \"yes\" "
                  "and \"no\" (classifier.output_labels)",
                  counted(labels.size(), "score"));
    }
    answers = {to_size(yes - labels.begin()), to_size(no - labels.begin())};
    return ok();
  }

  Result<EmbedTokens> tokens_of(std::string_view query, std::string_view document) const {
    return prompt ? prompt->tokens(query, document)
                  : tokens_of_pair(model->tokenizer(), query, document);
  }

  Status check(const EmbedTokens& text) const {
    if (text.tokens.empty()) return invalid("there are no tokens");
    if (std::ssize(text.tokens) <= limit.tokens) return ok();
    return invalid("{} with the query; there may be up to {}, {}",
                   counted(text.tokens.size(), "token"), limit.tokens, limit.reason);
  }

  /// Adds scores of some texts that check() accepts to those of the texts before.
  Status add_scores(std::span<const EmbedTokens> texts, const std::atomic<bool>* cancel,
                    std::vector<float>& scores) {
    SHUNT_ASSIGN(const std::vector<Embedding> embeddings, embedder->embed_tokens(texts, cancel));
    for (const Embedding& embedding : embeddings) {
      scores.push_back(score(embedding[0]));
      if (std::isnan(scores.back()))
        return invalid("the score of document {} is not a number", scores.size());
    }
    return ok();
  }

  float score(const std::vector<float>& embedding) const {
    const std::vector<double> scores = head.scores(embedding);
    if (!answers) return static_cast<float>(scores[0]);
    // The softmax of two.
    return static_cast<float>(1 / (1 + std::exp(scores[(*answers)[1]] - scores[(*answers)[0]])));
  }
};

Reranker::Reranker(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reranker::~Reranker() = default;

Result<std::unique_ptr<Reranker>> Reranker::create(std::shared_ptr<const Model> model,
                                                   const RerankOptions& options) {
  return guarded([&]() -> Result<std::unique_ptr<Reranker>> {
    const ModelInfo& info = model->info();
    if (!info.gives_embeddings)
      return invalid("the model gives logits: reranking needs LoadOptions::embeddings");
    SHUNT_TRY(check_adapters(options.adapters, info.adapters.size()));
    EmbedOptions embed;
    embed.pooling =
        info.is_encoder ? info.pooling.value_or(EmbeddingPooling::kFirst) : EmbeddingPooling::kLast;
    embed.normalize = false;
    embed.batch = options.batch;
    embed.sequences = options.sequences;
    embed.adapters = options.adapters;
    auto state = std::make_unique<State>();
    state->model = model;
    state->limit = text_limit(info, options.batch);
    const auto loaded = model->state();
    SHUNT_TRY(info.is_encoder ? state->make_encoder(*loaded)
                              : state->make_decoder(*loaded, options));
    SHUNT_ASSIGN(state->embedder, Embedder::create(std::move(model), embed));
    return std::unique_ptr<Reranker>(new Reranker(std::move(state)));
  });
}

Result<std::vector<float>> Reranker::rank_tokens(std::span<const EmbedTokens> texts,
                                                 const std::atomic<bool>* cancel) {
  return guarded([&]() -> Result<std::vector<float>> {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (Status good = state_->check(texts[i]); !good)
        return std::move(good.error()).with_context(document_name(i));
    }
    std::vector<float> scores;
    for (std::size_t first = 0; first < texts.size(); first += kSlice) {
      const auto slice = texts.subspan(first, std::min(kSlice, texts.size() - first));
      SHUNT_TRY(state_->add_scores(slice, cancel, scores));
    }
    return scores;
  });
}

Result<std::vector<float>> Reranker::rank(std::string_view query,
                                          std::span<const std::string> documents,
                                          const std::atomic<bool>* cancel) {
  return guarded([&]() -> Result<std::vector<float>> {
    // Every text has the query's tokens: those of all documents may be far more than their text.
    for (std::size_t i = 0; i < documents.size(); ++i) {
      if (cancel != nullptr && *cancel) return fail(ErrorCode::kCancelled, "cancelled");
      const auto tokens = state_->tokens_of(query, documents[i]);
      Status good = tokens ? state_->check(*tokens) : Status(Error(tokens.error()));
      if (!good) return std::move(good.error()).with_context(document_name(i));
    }
    std::vector<float> scores;
    while (scores.size() < documents.size()) {
      const auto rest = documents.subspan(scores.size());
      std::vector<EmbedTokens> texts;
      for (const std::string& document : rest.first(std::min(kSlice, rest.size()))) {
        SHUNT_ASSIGN(EmbedTokens tokens, state_->tokens_of(query, document));
        texts.push_back(std::move(tokens));
      }
      SHUNT_TRY(state_->add_scores(texts, cancel, scores));
    }
    return scores;
  });
}

}  // namespace shunt
