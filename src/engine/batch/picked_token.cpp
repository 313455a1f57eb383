#include "engine/batch/picked_token.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/to_size.h"
#include "engine/session/step_inputs.h"

namespace shunt {

namespace {

/// ln(sum(exp(logits))), without logits that are not numbers.
double log_sum(std::span<const float> logits) {
  float most = -INFINITY;
  for (const float logit : logits) most = std::max(most, std::isnan(logit) ? -INFINITY : logit);
  if (std::isinf(most)) return most;
  double sum = 0;
  for (const float logit : logits) {
    if (!std::isnan(logit)) sum += std::exp(static_cast<double>(logit) - most);
  }
  return most + std::log(sum);
}

void add_log_probabilities(std::span<const float> logits, std::int64_t alternatives,
                           BatchEvent& event) {
  const double sum = log_sum(logits);
  const auto of = [&](std::int32_t token) { return logits[to_size(token)] - sum; };
  event.log_probability = of(event.token);
  if (alternatives == 0) return;
  std::vector<std::int32_t> tokens;
  for (std::int32_t token = 0; std::cmp_less(token, logits.size()); ++token) {
    if (!std::isnan(logits[to_size(token)])) tokens.push_back(token);
  }
  const auto count = std::min(tokens.size(), to_size(alternatives));
  std::ranges::partial_sort(tokens, tokens.begin() + static_cast<std::ptrdiff_t>(count), {},
                            [&](std::int32_t token) { return -logits[to_size(token)]; });
  for (std::size_t i = 0; i < count; ++i) {
    event.alternatives.emplace_back(tokens[i], static_cast<float>(of(tokens[i])));
  }
}

}  // namespace

BatchEvent score_token(std::int32_t token, std::int64_t alternatives,
                       std::span<const float> logits) {
  BatchEvent event;
  event.token = token;
  event.in_prompt = true;
  add_log_probabilities(logits, std::max<std::int64_t>(alternatives, 0), event);
  // Such logits are left out where a token is picked. Here they mean that nothing is predicted.
  if (std::ranges::any_of(logits, [](float logit) { return std::isnan(logit); }))
    event.log_probability = NAN;
  return event;
}

Result<BatchEvent> pick_token(const BatchRequest& request, Sampler& sampler,
                              std::span<const std::int32_t> picked, std::span<const float> logits) {
  BatchEvent event;
  if (request.pick) {
    SHUNT_ASSIGN(event.token, request.pick(picked, logits));
    SHUNT_TRY(check_tokens({&event.token, 1}, std::ssize(logits)));
  } else if (request.filter) {
    std::vector<float> filtered(logits.begin(), logits.end());
    request.filter(picked, filtered);
    SHUNT_ASSIGN(event.token, sampler.pick(filtered));
  } else {
    SHUNT_ASSIGN(event.token, sampler.pick(logits));
  }
  sampler.accept(event.token);
  if (request.alternatives >= 0) add_log_probabilities(logits, request.alternatives, event);
  return event;
}

}  // namespace shunt
