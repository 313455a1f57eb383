#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/attention/attention.h"

namespace shunt {

namespace {

/// The pair, as a real number, that makes so many turns in the original context.
double pair_of_turns(const RopeParams& params, double turns) {
  const double context = static_cast<double>(params.original_context);
  return static_cast<double>(params.dims) * std::log(context / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(static_cast<double>(params.freq_base)));
}

/// How much of pair i is extrapolated: all of a fast one, nothing of a slow one.
double extrapolated(const RopeParams& params, std::int64_t i) {
  if (params.ext_factor == 0) return 0;
  const double low = std::max(0.0, std::floor(pair_of_turns(params, params.beta_fast)));
  const double high = std::min(static_cast<double>(params.dims - 1),
                               std::ceil(pair_of_turns(params, params.beta_slow)));
  const double ramp = (static_cast<double>(i) - low) / std::max(0.001, high - low);
  return (1 - std::clamp(ramp, 0.0, 1.0)) * params.ext_factor;
}

}  // namespace

std::string_view to_string(RopeMode mode) {
  return mode == RopeMode::kNormal ? "normal" : "neox";
}

double rope_frequency(const RopeParams& params, std::int64_t i) {
  const double plain = std::pow(static_cast<double>(params.freq_base),
                                -2 * static_cast<double>(i) / static_cast<double>(params.dims));
  const double mix = extrapolated(params, i);
  return plain * (params.freq_scale * (1 - mix) + mix);
}

double rope_magnitude(const RopeParams& params) {
  if (params.ext_factor == 0) return params.attn_factor;
  return params.attn_factor * (1 + 0.1 * std::log(1 / static_cast<double>(params.freq_scale)));
}

}  // namespace shunt
