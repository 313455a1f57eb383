// The logits of a model on two sets of devices, over the greedy text of one of them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/guarded.h"
#include "base/to_size.h"
#include "engine/model_state.h"
#include "shunt/message.h"
#include "shunt/verify_model.h"

namespace shunt {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The number of the largest logit, the first of equal ones; -1 if none is a number.
std::int32_t likeliest(std::span<const float> logits) {
  std::int32_t best = -1;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) continue;
    if (best < 0 || logits[i] > logits[to_size(best)]) best = static_cast<std::int32_t>(i);
  }
  return best;
}

double difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  return std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) : kInfinity;
}

class LogitsSum {
 public:
  void add(std::span<const float> got, std::span<const float> expected, std::int32_t best) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double apart = difference(got[i], expected[i]);
      result_.largest = std::max(result_.largest, apart);
      squares_ += apart * apart;
      if (std::isfinite(expected[i])) norm_ += double{expected[i]} * expected[i];
    }
    const std::int32_t other = likeliest(got);
    if (other != best) {
      const double gap =
          other < 0 ? kInfinity : difference(expected[to_size(best)], expected[to_size(other)]);
      if (!result_.first) result_.first = {result_.tokens, other, best, gap};
      ++result_.different;
    }
    ++result_.tokens;
    logits_ += static_cast<double>(expected.size());
  }
  LogitsComparison result() const {
    LogitsComparison result = result_;
    result.error = norm_ > 0 ? squares_ / norm_ : squares_;
    result.difference = logits_ > 0 ? std::sqrt(squares_ / logits_) : 0;
    return result;
  }

 private:
  LogitsComparison result_;
  double squares_ = 0;
  double logits_ = 0;
  double norm_ = 0;
};

/// A session whose context is `tokens`, or that of the model if it is shorter, with the adapters
/// that the model was loaded for.
Result<std::unique_ptr<Session>> session_of(const std::shared_ptr<const Model>& model,
                                            std::size_t tokens) {
  SessionOptions options;
  options.context = static_cast<std::int64_t>(std::min(tokens, to_size(model->info().context)));
  options.adapters = model->state()->session.adapters;
  return Session::create(model, options);
}

Result<LogitsComparison> compare(const std::shared_ptr<const Model>& model,
                                 const std::shared_ptr<const Model>& reference,
                                 std::span<const std::int32_t> prompt,
                                 const CompareLogitsOptions& options) {
  if (options.tokens < 1) return invalid("{} tokens to compare; at least 1", options.tokens);
  SHUNT_TRY(expect_logits(model->info()));
  SHUNT_TRY(expect_logits(reference->info()));
  if (model->info().vocabulary != reference->info().vocabulary) {
    return invalid("the models have {} and {} logits", model->info().vocabulary,
                   reference->info().vocabulary);
  }
  // The last token's logits are compared, but it is not appended.
  const std::size_t most = prompt.size() + to_size(options.tokens) - 1;
  SHUNT_ASSIGN(const auto tested, session_of(model, most));
  SHUNT_ASSIGN(const auto other, session_of(reference, most));
  LogitsSum sum;
  std::vector<std::int32_t> tokens(prompt.begin(), prompt.end());
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    SHUNT_ASSIGN(const auto expected, other->append(tokens, options.cancel));
    SHUNT_ASSIGN(const auto got, tested->append(tokens, options.cancel));
    const std::int32_t best = likeliest(expected);
    if (best < 0) return invalid("token {}: no logit of the reference is a number", i);
    sum.add(got, expected, best);
    if (options.progress) options.progress(to_size(i + 1), to_size(options.tokens));
    if (reference->tokenizer().is_end_of_generation(best)) break;
    if (other->length() >= std::min(other->context(), tested->context())) break;
    tokens = {best};
  }
  return sum.result();
}

}  // namespace

Result<LogitsComparison> compare_logits(const std::shared_ptr<const Model>& model,
                                        const std::shared_ptr<const Model>& reference,
                                        std::span<const std::int32_t> prompt,
                                        const CompareLogitsOptions& options) {
  return guarded([&] { return compare(model, reference, prompt, options); });
}

}  // namespace shunt
