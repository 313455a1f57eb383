#include "convert/gemma4_rules.h"

#include <algorithm>

#include "convert/layer_types.h"
#include "shunt/message.h"

namespace shunt {

Status add_gemma4(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const std::int64_t size, config.count("head_dim"));
  SHUNT_ASSIGN(const std::vector<std::string> types, layer_types(config, keys));
  if (types.empty()) return fail(ErrorCode::kNotFound, "{}: layer_types is missing", config.path());
  SHUNT_ASSIGN(const std::int64_t kv_heads, config.count("num_key_value_heads"));
  std::int64_t global_size = size;
  std::vector<std::int64_t> heads;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string of_layer = fmt::format("per_layer_config.{}.", i);
    const bool global = types[i] == "full_attention";
    SHUNT_ASSIGN(const std::int64_t layer_heads,
                 config.count(of_layer + "num_key_value_heads" +
                                  (global ? "|num_global_key_value_heads" : ""),
                              kv_heads));
    heads.push_back(layer_heads);
    if (!global) continue;
    SHUNT_ASSIGN(global_size, config.count(of_layer + "head_dim|global_head_dim", size));
    constexpr std::int64_t kMostOfGlobalHead = 1 << 16;
    if (global_size > kMostOfGlobalHead)
      return config.wrong(of_layer + "head_dim|global_head_dim", "at most 65536");
  }
  keys.count("attention.key_length", global_size);
  keys.count("attention.value_length", global_size);
  keys.count("attention.key_length_swa", size);
  keys.count("attention.value_length_swa", size);
  keys.count("rope.dimension_count", global_size);
  keys.count("rope.dimension_count_swa", size);
  const bool alike = std::ranges::count(heads, kv_heads) == std::ssize(heads);
  if (alike) {
    keys.count("attention.head_count_kv", kv_heads);
  } else {
    keys.counts("attention.head_count_kv", std::move(heads));
  }
  SHUNT_ASSIGN(const double base,
               config.number("rope_parameters.full_attention.rope_theta", 1000000));
  keys.number("rope.freq_base", base);
  // Pairs that do not turn have a frequency of next to nothing.
  SHUNT_ASSIGN(const double part,
               config.number("rope_parameters.full_attention.partial_rotary_factor", 1));
  if (!(part >= 0 && part <= 1)) {
    return config.wrong("rope_parameters.full_attention.partial_rotary_factor",
                        "a number from 0 to 1");
  }
  const std::int64_t pairs = global_size / 2;
  std::vector<float> divisors(static_cast<std::size_t>(pairs), 1.0F);
  const auto turned = static_cast<std::size_t>(part * static_cast<double>(pairs));
  for (std::size_t i = turned; i < divisors.size(); ++i) divisors[i] = 1e30F;
  keys.made[WeightSlot::kRopeFactors] = std::move(divisors);
  SHUNT_ASSIGN(const std::int64_t feed_forward, config.count("intermediate_size"));
  // Some layers have twice as many, which is a number of 32 bits, too.
  constexpr std::int64_t kMostOfFeedForward = 1 << 29;
  if (feed_forward > kMostOfFeedForward)
    return config.wrong("intermediate_size", "at most 536870912");
  SHUNT_ASSIGN(const std::int64_t shared, config.count("num_kv_shared_layers", 0));
  SHUNT_ASSIGN(const bool wide, config.flag("use_double_wide_mlp", false));
  const auto layers = std::ssize(types);
  if (shared > layers) return config.wrong("num_kv_shared_layers", "at most the number of layers");
  if (!wide || shared == 0) {
    keys.count("feed_forward_length", feed_forward);
    return ok();
  }
  std::vector<std::int64_t> sizes(types.size(), feed_forward);
  for (auto i = layers - shared; i < layers; ++i) sizes[static_cast<std::size_t>(i)] *= 2;
  keys.counts("feed_forward_length", std::move(sizes));
  return ok();
}

}  // namespace shunt
