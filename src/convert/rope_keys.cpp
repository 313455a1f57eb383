#include "convert/rope_keys.h"

#include <cmath>
#include <numbers>

#include "base/to_size.h"
#include "shunt/message.h"

namespace shunt {

namespace {

constexpr double kUsualBase = 10000;
constexpr std::int64_t kMostOfHead = 1 << 16;  // far more than any model has
constexpr const char* kHeads = "num_attention_heads|n_head";
constexpr const char* kWidth = "hidden_size|n_embd";

/// The members of an object that is in one of two places, by the age of a folder.
std::string in_rope(std::string_view name) {
  return fmt::format("rope_parameters.full_attention.{0}|rope_parameters.{0}|rope_scaling.{0}",
                     name);
}

Result<double> positive(const Config& config, const std::string& names,
                        std::optional<double> otherwise = {}) {
  SHUNT_ASSIGN(const double number, config.number(names, otherwise));
  if (!(number > 0)) return config.wrong(names, "a number above 0");
  return number;
}

Result<double> base_of(const Config& config) {
  return positive(config, in_rope("rope_theta") + "|rope_theta|rotary_emb_base|global_rope_theta",
                  kUsualBase);
}

Status add_yarn(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const double factor, positive(config, in_rope("factor")));
  SHUNT_ASSIGN(
      const std::int64_t original,
      config.count(in_rope("original_max_position_embeddings") + "|max_position_embeddings"));
  SHUNT_ASSIGN(const double fast, positive(config, in_rope("beta_fast"), 32));
  SHUNT_ASSIGN(const double slow, positive(config, in_rope("beta_slow"), 1));
  keys.text("rope.scaling.type", "yarn");
  keys.number("rope.scaling.factor", factor);
  keys.count("rope.scaling.original_context_length", original);
  keys.number("rope.scaling.yarn_beta_fast", fast);
  keys.number("rope.scaling.yarn_beta_slow", slow);
  SHUNT_ASSIGN(const double all, config.number(in_rope("mscale_all_dim"), 0));
  SHUNT_ASSIGN(const double some, config.number(in_rope("mscale"), all));
  if (all != 0 && all != some) return config.wrong(in_rope("mscale"), "the same as mscale_all_dim");
  if (all != 0) keys.number("rope.scaling.yarn_log_multiplier", all);
  if (config.has(in_rope("attention_factor"))) {
    // By default it follows from the factor.
    SHUNT_ASSIGN(const double stated, config.number(in_rope("attention_factor")));
    const double usual = factor > 1 ? 0.1 * std::log(factor) + 1 : 1;
    if (std::abs(stated - usual) > 1e-4)
      return config.wrong(in_rope("attention_factor"), fmt::format("{}, by the factor", usual));
  }
  return ok();
}

/// Llama 3.1: the divisors of frequencies, by wavelength.
Status add_llama3(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const double factor, positive(config, in_rope("factor")));
  SHUNT_ASSIGN(const double low, positive(config, in_rope("low_freq_factor")));
  SHUNT_ASSIGN(const double high, positive(config, in_rope("high_freq_factor")));
  SHUNT_ASSIGN(const std::int64_t original,
               config.count(in_rope("original_max_position_embeddings")));
  if (!(high > low)) return config.wrong(in_rope("high_freq_factor"), "more than low_freq_factor");
  SHUNT_ASSIGN(const double base, base_of(config));
  SHUNT_ASSIGN(const std::int64_t turned, turned_elements(config));
  const auto context = static_cast<double>(original);
  std::vector<float> divisors;
  for (std::int64_t i = 0; i < turned; i += 2) {
    const double frequency = std::pow(base, -static_cast<double>(i) / static_cast<double>(turned));
    const double wavelength = 2 * std::numbers::pi / frequency;
    double divisor = 1;
    if (wavelength > context / low) {
      divisor = factor;
    } else if (wavelength >= context / high) {
      const double smooth = (context / wavelength - low) / (high - low);
      divisor = 1 / ((1 - smooth) / factor + smooth);
    }
    divisors.push_back(static_cast<float>(divisor));
  }
  keys.made[WeightSlot::kRopeFactors] = std::move(divisors);
  return ok();
}

/// LongRoPE: two lists of divisors, and a factor of attention.
Status add_longrope(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const std::int64_t turned, turned_elements(config));
  const std::size_t pairs = to_size(turned / 2);
  SHUNT_ASSIGN(keys.made[WeightSlot::kShortRopeFactors],
               config.numbers(in_rope("short_factor"), pairs));
  SHUNT_ASSIGN(keys.made[WeightSlot::kLongRopeFactors],
               config.numbers(in_rope("long_factor"), pairs));
  for (const WeightSlot slot : {WeightSlot::kShortRopeFactors, WeightSlot::kLongRopeFactors}) {
    for (const float factor : keys.made[slot]) {
      if (!(factor > 0)) {
        return config.wrong(
            in_rope(slot == WeightSlot::kShortRopeFactors ? "short_factor" : "long_factor"),
            "numbers above 0");
      }
    }
  }
  SHUNT_ASSIGN(const std::int64_t context, config.count("max_position_embeddings"));
  SHUNT_ASSIGN(const std::int64_t original,
               config.count("original_max_position_embeddings|" +
                            in_rope("original_max_position_embeddings")));
  if (original < 2)
    return config.wrong("original_max_position_embeddings", "a whole number of at least 2");
  keys.count("rope.scaling.original_context_length", original);
  const double ratio = static_cast<double>(context) / static_cast<double>(original);
  const double usual =
      ratio > 1 ? std::sqrt(1 + std::log(ratio) / std::log(static_cast<double>(original))) : 1;
  SHUNT_ASSIGN(const double factor, config.number(in_rope("attention_factor"), usual));
  keys.number("rope.scaling.attn_factor", factor);
  return ok();
}

/// Hunyuan: a larger base.
Status add_dynamic(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const double alpha, positive(config, in_rope("alpha")));
  SHUNT_ASSIGN(const double factor, positive(config, in_rope("factor"), 1));
  if (factor != 1) return config.wrong(in_rope("factor"), "1, beside alpha");
  SHUNT_ASSIGN(const double base, base_of(config));
  SHUNT_ASSIGN(const std::int64_t turned, turned_elements(config));
  const auto size = static_cast<double>(turned);
  keys.number("rope.freq_base", base * std::pow(alpha, size / (size - 2)));
  return ok();
}

Status add_linear(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const double factor, positive(config, in_rope("factor")));
  keys.text("rope.scaling.type", "linear");
  keys.number("rope.scaling.factor", factor);
  return ok();
}

Status add_none(const Config&, FileKeys&) {
  return ok();
}

struct Scaling {
  std::string_view type;
  Status (*add)(const Config& config, FileKeys& keys);
};
constexpr Scaling kScalings[] = {
    {"default", add_none}, {"mrope", add_none},      {"linear", add_linear},
    {"yarn", add_yarn},    {"llama3", add_llama3},   {"longrope", add_longrope},
    {"su", add_longrope},  {"dynamic", add_dynamic}, {"proportional", add_none},
};

}  // namespace

Result<std::int64_t> head_elements(const Config& config) {
  SHUNT_ASSIGN(const std::int64_t heads, config.count(kHeads));
  SHUNT_ASSIGN(const std::int64_t width, config.count(kWidth));
  if (heads < 1) return config.wrong(kHeads, "at least 1");
  SHUNT_ASSIGN(const std::int64_t size, config.count("head_dim|attention_head_dim", width / heads));
  if (size < 1 || size > kMostOfHead)
    return config.wrong("head_dim|" + std::string(kWidth),
                        fmt::format("1 to {} elements a head", kMostOfHead));
  return size;
}

Result<std::int64_t> turned_elements(const Config& config) {
  constexpr const char* kStated = "qk_rope_head_dim|rotary_dim";
  if (config.has(kStated)) {
    SHUNT_ASSIGN(const std::int64_t turned, config.count(kStated));
    if (turned < 2 || turned % 2 != 0 || turned > kMostOfHead)
      return config.wrong(kStated, fmt::format("an even number from 2 to {}", kMostOfHead));
    return turned;
  }
  SHUNT_ASSIGN(const std::int64_t size, head_elements(config));
  const std::string names = in_rope("partial_rotary_factor") + "|partial_rotary_factor";
  SHUNT_ASSIGN(const double part, config.number(names, 1));
  if (!(part > 0) || part > 1) return config.wrong(names, "a number above 0, at most 1");
  const auto turned = static_cast<std::int64_t>(static_cast<double>(size) * part);
  if (turned < 2 || turned % 2 != 0)
    return config.wrong(names + "|head_dim|hidden_size",
                        fmt::format("an even part of the {} elements of a head", size));
  return turned;
}

Status add_rope(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const double base, base_of(config));
  keys.number("rope.freq_base", base);
  const std::string names = in_rope("rope_type") + "|rope_parameters.type|rope_scaling.type";
  SHUNT_ASSIGN(const std::string type, config.text(names, "default"));
  for (const Scaling& scaling : kScalings) {
    if (scaling.type == type) return scaling.add(config, keys);
  }
  std::string known;
  for (const Scaling& scaling : kScalings)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", scaling.type);
  return fail(ErrorCode::kUnsupported, "{}: scaling of rope {}; known are {}", config.path(),
              gguf::printable(type), known);
}

Status add_window_rope(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const double base,
               positive(config,
                        "rope_parameters.sliding_attention.rope_theta|rope_local_base_freq|"
                        "local_rope_theta|rope_parameters.rope_theta|rope_theta",
                        kUsualBase));
  SHUNT_ASSIGN(const std::string type,
               config.text("rope_parameters.sliding_attention.rope_type", "default"));
  if (type != "default")
    return config.wrong("rope_parameters.sliding_attention.rope_type", "\"default\"");
  keys.number("rope.freq_base_swa", base);
  return ok();
}

}  // namespace shunt
