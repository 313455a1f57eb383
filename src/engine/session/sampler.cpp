// The sampling chain: penalties, top-k, top-p, min-p, temperature, then a draw.
#include <algorithm>
#include <cmath>

#include "base/to_size.h"
#include "shunt/engine.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// A number in [0, 1) from the top 53 bits, the same with every standard library.
double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

}  // namespace

Result<Sampler> Sampler::create(const SamplingOptions& options) {
  struct OptionBound {
    const char* name;
    double value, low, high;
  };
  const OptionBound bounds[] = {
      {"temperature", options.temperature, 0, 1e6},
      {"top-k", static_cast<double>(options.top_k), 0, 1e9},
      {"top-p", options.top_p, 0, 1},
      {"min-p", options.min_p, 0, 1},
      {"repetition penalty", options.repeat_penalty, 1e-6, 1e6},
      {"frequency penalty", options.frequency_penalty, -1e6, 1e6},
      {"presence penalty", options.presence_penalty, -1e6, 1e6},
      {"number of recent tokens", static_cast<double>(options.penalty_last), 0, 1 << 24},
  };
  for (const OptionBound& bound : bounds) {
    if (!(bound.value >= bound.low && bound.value <= bound.high)) {
      return invalid("{} is {}; it may be from {} to {}", bound.name, bound.value, bound.low,
                     bound.high);
    }
  }
  return Sampler(options);
}

void Sampler::accept(std::int32_t token) {
  const auto limit = to_size(options_.penalty_last);
  if (limit == 0) return;
  if (recent_.size() < limit) {
    recent_.push_back(token);
  } else {
    const auto oldest = recent_count_.find(recent_[recent_next_]);
    if (--oldest->second == 0) recent_count_.erase(oldest);
    recent_[recent_next_] = token;
    recent_next_ = (recent_next_ + 1) % limit;
  }
  ++recent_count_[token];
}

void Sampler::apply_penalties() {
  if (options_.repeat_penalty == 1 && options_.frequency_penalty == 0 &&
      options_.presence_penalty == 0)
    return;
  for (Candidate& candidate : candidates_) {
    const auto recent = recent_count_.find(candidate.token);
    if (recent == recent_count_.end()) continue;
    float& logit = candidate.logit;
    logit = logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
    logit -=
        static_cast<float>(recent->second) * options_.frequency_penalty + options_.presence_penalty;
  }
}

/// Leaves the candidates that top-k, top-p and min-p let through, likeliest first.
void Sampler::keep_likeliest() {
  const auto likelier = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  };
  const std::size_t k = options_.top_k == 0 ? candidates_.size()
                                            : std::min(candidates_.size(), to_size(options_.top_k));
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(k),
                    candidates_.end(), likelier);
  candidates_.resize(k);
  double sum = 0;
  for (Candidate& candidate : candidates_) {
    candidate.probability = std::exp(static_cast<double>(candidate.logit) - candidates_[0].logit);
    sum += candidate.probability;
  }
  double reached = 0;
  std::size_t kept = 0;
  while (kept < candidates_.size() && (kept == 0 || reached < options_.top_p * sum)) {
    if (candidates_[kept].probability < options_.min_p * candidates_[0].probability) break;
    reached += candidates_[kept++].probability;
  }
  candidates_.resize(kept);
}

std::int32_t Sampler::draw() {
  double sum = 0;
  for (Candidate& candidate : candidates_) {
    candidate.probability = std::exp((static_cast<double>(candidate.logit) - candidates_[0].logit) /
                                     options_.temperature);
    sum += candidate.probability;
  }
  double left = uniform(random_) * sum;
  for (const Candidate& candidate : candidates_) {
    left -= candidate.probability;
    if (left < 0) return candidate.token;
  }
  return candidates_.back().token;  // rounding may leave a crumb
}

Result<std::int32_t> Sampler::pick(std::span<const float> logits) {
  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == -std::numeric_limits<float>::infinity()) continue;
    candidates_.push_back({static_cast<std::int32_t>(i), logits[i], 0});
  }
  if (candidates_.empty()) return invalid("none of the {} logits is a number", logits.size());
  apply_penalties();
  const auto best =
      std::max_element(candidates_.begin(), candidates_.end(),
                       [](const Candidate& a, const Candidate& b) { return a.logit < b.logit; });
  // An infinite logit leaves no choice; nor does a temperature of 0.
  if (options_.temperature == 0 || std::isinf(best->logit)) return best->token;
  keep_likeliest();
  return draw();
}

}  // namespace shunt
