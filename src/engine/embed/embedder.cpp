#include "shunt/embed.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/guarded.h"
#include "base/to_size.h"
#include "engine/embed/text_limit.h"
#include "shunt/message.h"
#include "shunt/text.h"

namespace shunt {

namespace {

/// The first `dimensions` elements, with a length of 1 if that is wanted.
void finish(std::vector<float>& vector, std::int64_t dimensions, bool normalize) {
  vector.resize(to_size(dimensions));
  if (!normalize) return;
  const double squares = std::transform_reduce(vector.begin(), vector.end(), 0.0, std::plus<>(),
                                               [](double x) { return x * x; });
  if (squares == 0) return;
  const auto factor = static_cast<float>(1 / std::sqrt(squares));
  for (float& x : vector) x *= factor;
}

/// So their product, the context, does not overflow.
Status check_counts(const EmbedOptions& options) {
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 20;
  constexpr std::int64_t kMostTexts = 4096;
  if (options.batch < 1 || options.batch > kMostTokens)
    return invalid("batches of {} tokens; it may be from 1 to {}", options.batch, kMostTokens);
  if (options.sequences < 1 || options.sequences > kMostTexts)
    return invalid("{} sequences; there may be from 1 to {}", options.sequences, kMostTexts);
  return ok();
}

/// One vector of the rows of a text's tokens, or all of them.
Embedding pooled(const std::vector<float>& rows, std::size_t width, EmbeddingPooling pooling) {
  const std::size_t tokens = rows.size() / width;
  const auto row = [&](std::size_t token) {
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(token * width);
    return std::vector<float>(first, first + static_cast<std::ptrdiff_t>(width));
  };
  if (pooling == EmbeddingPooling::kFirst) return {row(0)};
  if (pooling == EmbeddingPooling::kLast) return {row(tokens - 1)};
  if (pooling == EmbeddingPooling::kNone) {
    Embedding all;
    for (std::size_t token = 0; token < tokens; ++token) all.push_back(row(token));
    return all;
  }
  std::vector<double> sums(width);
  for (std::size_t i = 0; i < rows.size(); ++i) sums[i % width] += rows[i];
  std::vector<float> mean(width);
  for (std::size_t i = 0; i < width; ++i)
    mean[i] = static_cast<float>(sums[i] / static_cast<double>(tokens));
  return {mean};
}

}  // namespace

struct Embedder::State {
  std::shared_ptr<const Model> model;
  std::unique_ptr<Session> session;
  EmbedOptions options;
  EmbeddingPooling pooling = EmbeddingPooling::kMean;
  std::int64_t dimensions = 0;

  /// The rows of texts [first, first + count), which fit in one step.
  Status compute(std::span<const EmbedTokens> texts, std::span<std::vector<float>> rows,
                 const std::atomic<bool>* cancel) {
    std::vector<SequenceTokens> pieces;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      SHUNT_TRY(session->truncate(0, static_cast<std::int64_t>(i)));
      pieces.push_back({.sequence = static_cast<std::int64_t>(i),
                        .tokens = texts[i].tokens,
                        .second_text = texts[i].second_text});
    }
    return session->append_all_each(
        pieces,
        [&](std::size_t number, std::size_t, std::span<const float> more) {
          rows[number].insert(rows[number].end(), more.begin(), more.end());
        },
        cancel);
  }

  TextLimit limit() const { return text_limit(model->info(), options.batch); }

  Status check(std::span<const EmbedTokens> texts) const {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].tokens.empty()) return invalid("text {} has no tokens", i + 1);
      if (std::ssize(texts[i].tokens) <= limit().tokens) continue;
      return invalid("text {} has {}; there may be up to {}, {}", i + 1,
                     counted(texts[i].tokens.size(), "token"), limit().tokens, limit().reason);
    }
    return ok();
  }
};

Embedder::Embedder(std::unique_ptr<State> state) : state_(std::move(state)) {}
Embedder::~Embedder() = default;

Result<std::unique_ptr<Embedder>> Embedder::create(std::shared_ptr<const Model> model,
                                                   const EmbedOptions& options) {
  return guarded([&]() -> Result<std::unique_ptr<Embedder>> {
    const ModelInfo& info = model->info();
    if (!info.gives_embeddings) {
      return invalid("the model gives logits: embeddings need LoadOptions::embeddings");
    }
    if (options.dimensions < 0 || options.dimensions > info.outputs) {
      return invalid("{} dimensions; there may be from 1 to {}, or 0 for all", options.dimensions,
                     info.outputs);
    }
    SHUNT_TRY(check_counts(options));
    auto state = std::make_unique<State>();
    state->options = options;
    state->pooling = options.pooling.value_or(
        info.pooling.value_or(info.is_encoder ? EmbeddingPooling::kMean : EmbeddingPooling::kLast));
    state->dimensions = options.dimensions == 0 ? info.outputs : options.dimensions;
    SessionOptions session;
    session.sequences = options.sequences;
    session.batch = options.batch;
    session.context = options.batch * options.sequences;
    session.reuse_prefixes = false;
    session.adapters = options.adapters;
    session.cache_type = DType::kF32;  // small, as texts do not stay
    SHUNT_ASSIGN(state->session, Session::create(model, session));
    state->model = std::move(model);
    return std::unique_ptr<Embedder>(new Embedder(std::move(state)));
  });
}

Result<std::vector<Embedding>> Embedder::embed_tokens(
    std::span<const std::vector<std::int32_t>> texts, const std::atomic<bool>* cancel) {
  return guarded([&] {
    std::vector<EmbedTokens> all;
    all.reserve(texts.size());
    for (const std::vector<std::int32_t>& tokens : texts) all.push_back({.tokens = tokens});
    return embed_tokens(all, cancel);
  });
}

Result<std::vector<Embedding>> Embedder::embed_tokens(std::span<const EmbedTokens> texts,
                                                      const std::atomic<bool>* cancel) {
  return guarded([&]() -> Result<std::vector<Embedding>> {
    SHUNT_TRY(state_->check(texts));
    const auto width = to_size(state_->model->info().outputs);
    std::vector<Embedding> made;
    for (std::size_t first = 0; first < texts.size();) {
      std::size_t end = first;
      std::int64_t tokens = 0;
      while (end < texts.size() && end - first < to_size(state_->options.sequences) &&
             tokens + std::ssize(texts[end].tokens) <= state_->options.batch)
        tokens += std::ssize(texts[end++].tokens);
      std::vector<std::vector<float>> rows(end - first);
      SHUNT_TRY(state_->compute(texts.subspan(first, end - first), rows, cancel));
      for (const std::vector<float>& of_text : rows) {
        Embedding embedding = pooled(of_text, width, state_->pooling);
        for (std::vector<float>& vector : embedding)
          finish(vector, state_->dimensions, state_->options.normalize);
        made.push_back(std::move(embedding));
      }
      first = end;
    }
    return made;
  });
}

Result<std::vector<Embedding>> Embedder::embed(std::span<const std::string> texts,
                                               const std::atomic<bool>* cancel) {
  return guarded([&]() -> Result<std::vector<Embedding>> {
    const std::string& prompt = state_->options.prompt;
    std::vector<EmbedTokens> tokens;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      auto encoded =
          state_->model->tokenizer().encode(prompt + texts[i], {.trusted_bytes = prompt.size()});
      if (!encoded) return std::move(encoded.error()).with_context(fmt::format("text {}", i + 1));
      tokens.push_back({.tokens = std::move(*encoded)});
    }
    return embed_tokens(tokens, cancel);
  });
}

std::int64_t Embedder::dimensions() const {
  return state_->dimensions;
}
EmbeddingPooling Embedder::pooling() const {
  return state_->pooling;
}

}  // namespace shunt
