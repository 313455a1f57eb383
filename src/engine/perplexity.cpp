#include "shunt/perplexity.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/counted.h"
#include "base/fail.h"
#include "base/guarded.h"
#include "engine/text_chunks.h"

namespace shunt {

namespace {

/// log sum exp(logits) - logits[token], in double precision. Not finite if a logit is +inf
/// or not a number, or the token's own is -inf.
double negative_log_likelihood(std::span<const float> logits, std::int32_t token) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
  return most + std::log(sum) - static_cast<double>(logits[static_cast<std::size_t>(token)]);
}

/// Mean and spread of numbers as they come (Welford, "Note on a method for calculating corrected
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

}  // namespace

Result<Perplexity> perplexity(const std::shared_ptr<const Model>& model,
                              std::span<const std::int32_t> tokens,
                              const PerplexityOptions& options) {
  return guarded([&]() -> Result<Perplexity> {
    SessionOptions session_options = options.session;
    std::int64_t& length = session_options.context;
    length = chunk_length(model->info().context, length);
    if (length < kLeastScoredChunk) {
      return invalid("chunks of {} tokens; they must have at least {}", length, kLeastScoredChunk);
    }
    const auto chunk = static_cast<std::size_t>(length);
    if (tokens.size() < chunk) {
      return invalid("the text has {}, but a chunk has {}", counted(tokens.size(), "token"), chunk);
    }
    SHUNT_ASSIGN(const auto session, Session::create(model, session_options));
    const bool begins = model->tokenizer().adds_bos();
    const auto vocabulary = static_cast<std::size_t>(model->info().vocabulary);
    const std::uint64_t chunks = tokens.size() / chunk;
    Moments moments;
    Perplexity result;
    while (result.chunks < chunks) {
      if (options.cancel != nullptr && options.cancel->load()) {
        return fail(ErrorCode::kCancelled, "cancelled");
      }
      const auto from = tokens.subspan(result.chunks * chunk, chunk);
      std::vector<std::int32_t> ids(from.begin(), from.end());
      if (begins) ids.front() = tokens.front();
      std::optional<std::size_t> lost;  // the first token that nothing sensible is predicted for
      SHUNT_TRY(session->truncate(0));
      SHUNT_TRY(session->append_all(ids, [&](std::size_t first, std::span<const float> logits) {
        for (std::size_t i = 0; i * vocabulary < logits.size(); ++i) {
          const std::size_t next = first + i + 1;  // the token that these logits predict
          if (next <= chunk / 2 || next >= chunk) continue;
          const double nll =
              negative_log_likelihood(logits.subspan(i * vocabulary, vocabulary), ids[next]);
          if (!std::isfinite(nll) && !lost) lost = next;
          moments.add(nll);
        }
      }));
      if (lost) {
        return fail(ErrorCode::kUnsupported,
                    "chunk {} of {}: the model's prediction of token {} is not finite",
                    result.chunks + 1, chunks, *lost);
      }
      ++result.chunks;
      result.tokens = moments.count();
      result.value = std::exp(moments.mean());
      if (const auto error = moments.standard_error()) result.error = result.value * *error;
      if (options.progress) options.progress(result, chunks);
    }
    if (!std::isfinite(result.value) || !std::isfinite(result.error.value_or(0))) {
      return fail(
          ErrorCode::kUnsupported,
          "the mean negative log-likelihood is {:.6g}: the perplexity is beyond all numbers",
          moments.mean());
    }
    return result;
  });
}

}  // namespace shunt
