#include "shunt/perplexity.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/to_size.h"
#include "engine/batch/run_requests.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// Running mean and variance (Welford, "Note on a method for calculating corrected
/// sums of squares and products", 1962).
class Moments {
 public:
  void add(double x) {
    ++count_;
    const double delta = x - mean_;
    mean_ += delta / static_cast<double>(count_);
    squares_ += delta * (x - mean_);
  }
  std::uint64_t count() const { return count_; }
  double mean() const { return mean_; }
  /// Of the mean; none with a single number.
  std::optional<double> standard_error() const {
    if (count_ < 2) return std::nullopt;
    const auto n = static_cast<double>(count_);
    return std::sqrt(squares_ / (n - 1) / n);
  }

 private:
  std::uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

/// Scores pieces of text (chunks or documents), each by itself, and sums up the results.
class Scoring {
 public:
  Scoring(Session& session, std::string_view piece, std::uint64_t pieces,
          const PerplexityOptions& options)
      : session_(session),
        engine_(session, options_without_interval(options.session.threads), options.cancel),
        piece_(piece),
        pieces_(pieces),
        options_(options) {}

  /// Scores the tokens from the `first` on, at least 1.
  Status add(std::span<const std::int32_t> ids, std::size_t first) {
    SHUNT_TRY(session_.truncate(0));
    BatchRequest request;
    request.tokens.assign(ids.begin(), ids.end());
    request.max_tokens = 0;
    request.score_from = static_cast<std::int64_t>(first);
    SHUNT_ASSIGN(const auto stream, engine_.submit(std::move(request), OwnSequence{}));
    std::optional<std::size_t> lost;  // the first token without a finite prediction
    std::size_t next = first;
    const auto score = [&](std::size_t, const BatchEvent& event) -> Status {
      if (event.end) return status_of(*event.end);
      if (!std::isfinite(event.log_probability) && !lost) lost = next;
      ++next;
      moments_.add(-event.log_probability);
      return ok();
    };
    SHUNT_TRY(run_requests(engine_, {&stream, 1}, score));
    if (lost) {
      return fail(ErrorCode::kUnsupported,
                  "{} {} of {}: the model's prediction of token {} is not finite", piece_,
                  result_.chunks + 1, pieces_, *lost);
    }
    ++result_.chunks;
    result_.tokens = moments_.count();
    result_.bits = moments_.mean() * static_cast<double>(moments_.count()) / std::numbers::ln2;
    result_.value = std::exp(moments_.mean());
    if (const auto error = moments_.standard_error()) result_.error = result_.value * *error;
    if (options_.progress) options_.progress(result_, pieces_);
    return ok();
  }

  Result<Perplexity> result() const {
    if (!std::isfinite(result_.value) || !std::isfinite(result_.error.value_or(0))) {
      return fail(
          ErrorCode::kUnsupported,
          "the mean negative log-likelihood is {:.6g}: the perplexity is too large for a number",
          moments_.mean());
    }
    return result_;
  }

 private:
  Session& session_;
  BatchEngine engine_;
  std::string_view piece_;
  std::uint64_t pieces_;
  const PerplexityOptions& options_;
  Moments moments_;
  Perplexity result_;
};

}  // namespace

Result<Perplexity> perplexity(const std::shared_ptr<const Model>& model,
                              std::span<const std::int32_t> tokens,
                              const PerplexityOptions& options) {
  return guarded([&]() -> Result<Perplexity> {
    SHUNT_TRY(expect_logits(model->info()));
    SessionOptions session_options = options.session;
    std::int64_t& length = session_options.context;
    length = chunk_length(model->info().context, length);
    if (length < kLeastScoredChunk) {
      return invalid("chunks of {} tokens; they must have at least {}", length, kLeastScoredChunk);
    }
    const auto chunk = to_size(length);
    if (tokens.size() < chunk) {
      return invalid("the text has {}, but a chunk has {}", counted(tokens.size(), "token"), chunk);
    }
    SHUNT_ASSIGN(const auto session, Session::create(model, session_options));
    const bool begins = model->tokenizer().adds_bos();
    const std::uint64_t chunks = tokens.size() / chunk;
    Scoring scoring(*session, "chunk", chunks, options);
    for (std::uint64_t i = 0; i < chunks; ++i) {
      const auto from = tokens.subspan(i * chunk, chunk);
      std::vector<std::int32_t> ids(from.begin(), from.end());
      if (begins) ids.front() = tokens.front();
      SHUNT_TRY(scoring.add(ids, chunk / 2 + 1));
    }
    return scoring.result();
  });
}

Result<Perplexity> perplexity_of_documents(const std::shared_ptr<const Model>& model,
                                           std::span<const std::int32_t> tokens,
                                           std::span<const std::size_t> starts,
                                           const PerplexityOptions& options) {
  return guarded([&]() -> Result<Perplexity> {
    SHUNT_TRY(expect_logits(model->info()));
    if (starts.size() < 2) return invalid("there is no document");
    SessionOptions session_options = options.session;
    std::int64_t& context = session_options.context;
    if (context == 0) context = model->info().context;
    std::size_t longest = 0;
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      if (starts[i] > starts[i + 1] || starts[i + 1] > tokens.size()) {
        return invalid("document {} is from token {} to {} of {}", i + 1, starts[i], starts[i + 1],
                       tokens.size());
      }
      const std::size_t length = starts[i + 1] - starts[i];
      longest = std::max(longest, length);
      if (length >= 2 && std::cmp_less_equal(length, context)) continue;
      return invalid("document {} has {}; it must have from 2 to {}, the context", i + 1,
                     counted(length, "token"), context);
    }
    context = static_cast<std::int64_t>(longest);
    SHUNT_ASSIGN(const auto session, Session::create(model, session_options));
    Scoring scoring(*session, "document", starts.size() - 1, options);
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      SHUNT_TRY(scoring.add(tokens.subspan(starts[i], starts[i + 1] - starts[i]), 1));
    }
    return scoring.result();
  });
}

}  // namespace shunt
