#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "ops/attention/attention.h"

namespace shunt {

namespace {

/// The pair, as a real number, that makes `turns` turns in the original context.
double pair_of_turns(const RopeParams& params, double turns) {
  const double context = static_cast<double>(params.original_context);
  return static_cast<double>(params.dims) * std::log(context / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(static_cast<double>(params.freq_base)));
}

/// How much of pair i is extrapolated: all of a fast one, nothing of a slow one.
double extrapolated(const RopeParams& params, std::int64_t i) {
  if (params.ext_factor == 0) return 0;
  const double fast = pair_of_turns(params, params.beta_fast);
  const double slow = pair_of_turns(params, params.beta_slow);
  const double low = std::max(0.0, params.whole_pairs ? std::floor(fast) : fast);
  const double high =
      std::min(static_cast<double>(params.dims - 1), params.whole_pairs ? std::ceil(slow) : slow);
  const double ramp = (static_cast<double>(i) - low) / std::max(0.001, high - low);
  return (1 - std::clamp(ramp, 0.0, 1.0)) * params.ext_factor;
}

/// The number of pair i's section, and of its first pair.
struct Section {
  std::size_t number = 0;
  std::int64_t first = 0;
};

Section section_of(const RopeParams& params, std::int64_t i) {
  Section section;
  if (!has_sections(params.mode)) return section;
  while (section.number + 1 < params.sections.size()) {
    const std::int64_t end = section.first + params.sections[section.number];
    if (i < end) break;
    section = {section.number + 1, end};
  }
  return section;
}

double frequency_of(const RopeParams& params, std::int64_t i) {
  const double plain = std::pow(static_cast<double>(params.freq_base),
                                -2 * static_cast<double>(i) / static_cast<double>(params.dims));
  const double mix = extrapolated(params, i);
  return plain * (params.freq_scale * (1 - mix) + mix);
}

}  // namespace

std::string_view to_string(RopeMode mode) {
  static constexpr std::array<std::string_view, 4> kNames = {"normal", "neox", "multi", "vision"};
  return kNames[static_cast<std::size_t>(mode)];
}

bool has_sections(RopeMode mode) {
  return mode == RopeMode::kMulti || mode == RopeMode::kVision;
}

std::size_t rope_position(const RopeParams& params, std::int64_t i) {
  return section_of(params, i).number;
}

double rope_frequency(const RopeParams& params, std::int64_t i) {
  if (params.mode != RopeMode::kVision) return frequency_of(params, i);
  RopeParams of_section = params;
  of_section.dims /= 2;
  return frequency_of(of_section, i - section_of(params, i).first);
}

double rope_magnitude(const RopeParams& params) {
  if (params.ext_factor == 0) return params.attn_factor;
  return params.attn_factor * (1 + 0.1 * std::log(1 / static_cast<double>(params.freq_scale)));
}

}  // namespace shunt
