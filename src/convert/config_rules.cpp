#include "convert/config_rules.h"

#include <algorithm>
#include <cmath>

#include "convert/config_limits.h"
#include "convert/encoder_rules.h"
#include "convert/gemma4_rules.h"
#include "convert/json_text.h"
#include "convert/layer_types.h"
#include "convert/rope_keys.h"
#include "model/architectures/published_list.h"
#include "shunt/message.h"

namespace shunt {

namespace {

using Texts = std::vector<std::string>;

Status add_heads(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const std::int64_t size, head_elements(config));
  keys.count("attention.key_length", size);
  keys.count("attention.value_length", size);
  return ok();
}

Status add_rope_dims(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const std::int64_t turned, turned_elements(config));
  keys.count("rope.dimension_count", turned);
  return ok();
}

/// 0: none.
Result<std::int64_t> window_of(const Config& config) {
  SHUNT_ASSIGN(const bool used, config.flag("use_sliding_window", true));
  SHUNT_ASSIGN(const std::int64_t window, config.count("sliding_window", 0));
  return used ? window : 0;
}

Status add_window(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const std::int64_t window, window_of(config));
  keys.count("attention.sliding_window", window);
  return ok();
}

Status add_window_pattern(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const std::int64_t window, window_of(config));
  if (window == 0) return ok();
  SHUNT_ASSIGN(const Texts types, layer_types(config, keys));
  keys.count("attention.sliding_window", window);
  if (types.empty()) return ok();
  std::vector<bool> windowed;
  for (const std::string& type : types) windowed.push_back(type == "sliding_attention");
  keys.flags("attention.sliding_window_pattern", windowed);
  return ok();
}

/// GGUF has no window for these: as long as the context is no longer, it makes no difference.
Status shorten_context(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const std::int64_t window, window_of(config));
  const std::int64_t context = keys.count_of("context_length");
  if (window == 0 || window >= context) return ok();
  keys.count("context_length", window);
  keys.notes.push_back(
      fmt::format("{}: sliding_window: the context is {} instead of {} tokens, as files of this "
                  "architecture have no window",
                  config.path(), window, context));
  return ok();
}

Status add_leading_dense(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const std::int64_t stated,
               config.count("first_k_dense_replace|num_dense_layers", 0));
  SHUNT_ASSIGN(const std::int64_t step, config.count("moe_layer_freq", 1));
  if (step != 1) return config.wrong("moe_layer_freq", "1");
  std::int64_t dense = stated;
  SHUNT_ASSIGN(
      const Texts types,
      config.texts("mlp_layer_types", static_cast<std::size_t>(keys.count_of("block_count"))));
  if (!types.empty()) {
    const auto first = std::ranges::find(types, "sparse");
    if (std::find(first, types.end(), "dense") != types.end())
      return config.wrong("mlp_layer_types", "dense layers before all others");
    dense = first - types.begin();
  }
  keys.count("leading_dense_block_count", dense);
  return ok();
}

Status add_sigmoid_router(const Config&, FileKeys& keys) {
  constexpr std::int64_t kSigmoid = 2;  // of the file format
  keys.count("expert_gating_func", kSigmoid);
  return ok();
}

Status add_latent(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const std::int64_t rank, config.count("kv_lora_rank"));
  SHUNT_ASSIGN(const std::int64_t query_rank, config.count("q_lora_rank", 0));
  SHUNT_ASSIGN(const std::int64_t plain, config.count("qk_nope_head_dim"));
  SHUNT_ASSIGN(const std::int64_t turned, config.count("qk_rope_head_dim"));
  SHUNT_ASSIGN(const std::int64_t value, config.count("v_head_dim"));
  if (query_rank > 0) keys.count("attention.q_lora_rank", query_rank);
  keys.count("attention.kv_lora_rank", rank);
  keys.count("attention.head_count_kv", 1);
  keys.count("attention.key_length", rank + turned);
  keys.count("attention.value_length", rank);
  keys.count("attention.key_length_mla", plain + turned);
  keys.count("attention.value_length_mla", value);
  keys.count("rope.dimension_count", turned);
  return ok();
}

/// This architecture has a tenth of the multiplier in its key.
Status add_latent_rope(const Config& config, FileKeys& keys) {
  SHUNT_TRY(add_rope(config, keys));
  SHUNT_ASSIGN(const double all,
               config.number("rope_parameters.mscale_all_dim|rope_scaling.mscale_all_dim", 0));
  if (all != 0) keys.number("rope.scaling.yarn_log_multiplier", 0.1 * all);
  return ok();
}

Status add_delta_net(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const std::int64_t taps, config.count("linear_conv_kernel_dim"));
  SHUNT_ASSIGN(const std::int64_t key_size, config.count("linear_key_head_dim"));
  SHUNT_ASSIGN(const std::int64_t value_size, config.count("linear_value_head_dim"));
  SHUNT_ASSIGN(const std::int64_t key_heads, config.count("linear_num_key_heads"));
  SHUNT_ASSIGN(const std::int64_t value_heads, config.count("linear_num_value_heads"));
  keys.count("ssm.conv_kernel", taps);
  keys.count("ssm.state_size", key_size);
  keys.count("ssm.group_count", key_heads);
  keys.count("ssm.time_step_rank", value_heads);
  keys.count("ssm.inner_size", value_size * value_heads);
  SHUNT_ASSIGN(const Texts types, layer_types(config, keys));
  SHUNT_ASSIGN(std::int64_t interval, config.count("full_attention_interval", 4));
  if (!types.empty()) {
    std::vector<bool> recurrent;
    for (const std::string& type : types) recurrent.push_back(type == "linear_attention");
    const auto first = std::ranges::find(recurrent, false) - recurrent.begin();
    if (static_cast<std::size_t>(first) < recurrent.size()) interval = first + 1;
    keys.flags("attention.recurrent_layers", recurrent);
  }
  keys.count("full_attention_interval", interval);
  return ok();
}

/// Heads of keys in layers of attention, none in the others.
Status add_heads_by_layer(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const std::int64_t heads, config.count("num_key_value_heads"));
  SHUNT_ASSIGN(const Texts types, layer_types(config, keys));
  if (types.empty()) {
    return fail(ErrorCode::kNotFound, "{}: layer_types is missing, a text for each layer",
                config.path());
  }
  std::vector<std::int64_t> counts;
  for (const std::string& type : types)
    counts.push_back(type == "full_attention" || type == "attention" ? heads : 0);
  keys.counts("attention.head_count_kv", std::move(counts));
  return ok();
}

/// The size is rounded up, where the folder says so.
Status add_lfm_feed_forward(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(std::int64_t size, config.count("intermediate_size|block_ff_dim"));
  SHUNT_ASSIGN(const bool adjusted, config.flag("block_auto_adjust_ff_dim", true));
  if (adjusted) {
    SHUNT_ASSIGN(const double multiplier, config.number("block_ffn_dim_multiplier", 1));
    SHUNT_ASSIGN(const std::int64_t multiple, config.count("block_multiple_of", 256));
    if (multiple < 1) return config.wrong("block_multiple_of", "at least 1");
    if (!(multiplier > 0) || multiplier > 1024)
      return config.wrong("block_ffn_dim_multiplier", "a number above 0");
    const std::int64_t two_thirds = 2 * size / 3;
    size = static_cast<std::int64_t>(multiplier * static_cast<double>(two_thirds));
    size = (size + multiple - 1) / multiple * multiple;
  }
  keys.count("feed_forward_length", size);
  return ok();
}

Status add_state_space(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const std::int64_t taps, config.count("mamba_d_conv|conv_kernel"));
  SHUNT_ASSIGN(const std::int64_t state, config.count("mamba_d_state|state_size"));
  SHUNT_ASSIGN(const std::int64_t groups, config.count("mamba_n_groups|n_groups"));
  SHUNT_ASSIGN(const std::int64_t heads, config.count("mamba_n_heads|num_heads"));
  SHUNT_ASSIGN(const std::int64_t size, config.count("mamba_d_head|head_dim"));
  keys.count("ssm.conv_kernel", taps);
  keys.count("ssm.inner_size", heads * size);
  keys.count("ssm.state_size", state);
  keys.count("ssm.time_step_rank", heads);
  keys.count("ssm.group_count", groups);
  return ok();
}

Status add_space_layers(const Config& config, FileKeys& keys) {
  SHUNT_TRY(add_heads_by_layer(config, keys));
  SHUNT_ASSIGN(const std::string positions, config.text("position_embedding_type", "nope"));
  keys.flag("rope.scaling.finetuned", positions == "rope");
  if (keys.count_of("expert_count") == 0) {
    for (const char* const key :
         {"expert_count", "expert_used_count", "expert_shared_feed_forward_length"})
      keys.remove(key);
    SHUNT_ASSIGN(const std::int64_t size, config.count("shared_intermediate_size"));
    keys.count("feed_forward_length", size);
  }
  return ok();
}

Status add_mamba_only(const Config&, FileKeys& keys) {
  constexpr std::int64_t kContext = std::int64_t{1} << 20;  // it has no limit
  keys.count("context_length", kContext);
  keys.count("feed_forward_length", 0);
  keys.count("attention.head_count", 0);
  return ok();
}

Status add_temperature(const Config& config, FileKeys& keys) {
  SHUNT_ASSIGN(const double scale, config.number("rope_parameters.llama_4_scaling_beta|"
                                                 "rope_scaling.llama_4_scaling_beta",
                                                 0));
  keys.number("attention.temperature_scale", scale);
  return ok();
}

Status add_no_rope(const Config&, FileKeys& keys) {
  keys.text("rope.scaling.type", "none");
  return ok();
}

/// The numbers of chunks and temperatures are known to programs; others need keys.
Status add_llama4(const Config& config, FileKeys& keys) {
  constexpr std::int64_t kTokens = 8192;
  SHUNT_ASSIGN(const std::int64_t chunk, config.count("attention_chunk_size", kTokens));
  SHUNT_ASSIGN(const std::int64_t length, config.count("floor_scale", kTokens));
  SHUNT_ASSIGN(const double scale, config.number("attn_scale", 0.1));
  if (chunk != kTokens) keys.count("attention.chunk_size", chunk);
  if (length != kTokens) keys.count("attention.temperature_length", length);
  if (scale != 0.1) keys.number("attention.temperature_scale", scale);
  SHUNT_ASSIGN(const bool normed, config.flag("use_qk_norm", true));
  constexpr std::int64_t kExpertsOfMaverick = 128;
  if (normed == (keys.count_of("expert_count") == kExpertsOfMaverick)) {
    return config.wrong("use_qk_norm",
                        fmt::format("false with {} experts, else true", kExpertsOfMaverick));
  }
  return ok();
}

Status add_query_scale(const Config& config, FileKeys& keys) {
  if (!config.has("query_pre_attn_scalar")) return ok();
  SHUNT_ASSIGN(const double divisor, config.number("query_pre_attn_scalar"));
  if (!(divisor > 0)) return config.wrong("query_pre_attn_scalar", "a number above 0");
  keys.number("attention.scale", 1 / std::sqrt(divisor));
  return ok();
}

Status add_rope_sections(const Config& config, FileKeys& keys) {
  constexpr std::size_t kSections = 3;
  std::vector<std::int64_t> sections = {11, 11, 10, 0};  // of the published models
  constexpr const char* kNames = "rope_parameters.mrope_section|rope_scaling.mrope_section";
  if (config.has(kNames)) {
    SHUNT_ASSIGN(const auto stated, config.numbers(kNames, kSections));
    for (std::size_t i = 0; i < kSections; ++i) sections[i] = static_cast<std::int64_t>(stated[i]);
  }
  keys.counts("rope.dimension_sections", std::move(sections));
  return ok();
}

Status add_nothing(const Config&, FileKeys&) {
  return ok();
}

struct Rule {
  ConfigRule rule;
  Status (*add)(const Config& config, FileKeys& keys);
};
constexpr Rule kRules[] = {
    {ConfigRule::kHeads, add_heads},
    {ConfigRule::kRopeDims, add_rope_dims},
    {ConfigRule::kRope, add_rope},
    {ConfigRule::kWindowRope, add_window_rope},
    {ConfigRule::kWindow, add_window},
    {ConfigRule::kWindowPattern, add_window_pattern},
    {ConfigRule::kNoWindow, shorten_context},
    {ConfigRule::kLeadingDense, add_leading_dense},
    {ConfigRule::kSigmoidRouter, add_sigmoid_router},
    {ConfigRule::kLatent, add_latent},
    {ConfigRule::kLatentRope, add_latent_rope},
    {ConfigRule::kDeltaNet, add_delta_net},
    {ConfigRule::kConvolutions, add_heads_by_layer},
    {ConfigRule::kLfmFeedForward, add_lfm_feed_forward},
    {ConfigRule::kStateSpace, add_state_space},
    {ConfigRule::kSpaceLayers, add_space_layers},
    {ConfigRule::kMambaOnly, add_mamba_only},
    {ConfigRule::kTemperature, add_temperature},
    {ConfigRule::kNoRope, add_no_rope},
    {ConfigRule::kGemma4, add_gemma4},
    {ConfigRule::kLlama4, add_llama4},
    {ConfigRule::kRopeSections, add_rope_sections},
    {ConfigRule::kQueryScale, add_query_scale},
    {ConfigRule::kEncoder, add_encoder},
    {ConfigRule::kPositions, add_positions},
};

Status add_number(const Config& config, const ConfigNumber& row, FileKeys& keys) {
  if (!config.has(row.from)) {
    if (row.otherwise == "-") return ok();
    if (row.otherwise.empty()) return Error(config.count(row.from).error());
    SHUNT_ASSIGN(const nlohmann::json value, parse_json(row.otherwise, std::string(row.key)));
    if (row.kind == ConfigKind::kCount) keys.count(row.key, value.get<std::int64_t>());
    if (row.kind == ConfigKind::kNumber) keys.number(row.key, value.get<double>());
    if (row.kind == ConfigKind::kFlag) keys.flag(row.key, value.get<bool>());
    return ok();
  }
  if (row.kind == ConfigKind::kCount) {
    SHUNT_ASSIGN(const std::int64_t value, config.count(row.from));
    keys.count(row.key, value);
  } else if (row.kind == ConfigKind::kNumber) {
    SHUNT_ASSIGN(const double value, config.number(row.from));
    keys.number(row.key, value);
  } else if (row.kind == ConfigKind::kText) {
    SHUNT_ASSIGN(std::string value, config.text(row.from));
    keys.text(row.key, std::move(value));
  } else {
    SHUNT_ASSIGN(const bool value, config.flag(row.from));
    keys.flag(row.key, value);
  }
  return ok();
}

}  // namespace

Result<const Published*> find_published(const Config& config) {
  for (const char* const member : {"text_config.model_type", "model_type"}) {
    SHUNT_ASSIGN(const std::string type, config.text(member, ""));
    const auto is_true = [&](std::string_view flag) {
      const nlohmann::json* const value = config.find(flag);
      return value != nullptr && *value == true;
    };
    if (const Published* const found = find_published(type, is_true)) return found;
  }
  SHUNT_ASSIGN(const std::string type, config.text("model_type"));
  std::string known;
  for (const Published& model : published_models()) {
    if (!model.only_with.empty()) continue;
    std::string types(model.types);
    for (std::size_t at = 0; (at = types.find('|', at)) != std::string::npos;)
      types.replace(at, 1, ", ");
    known += (known.empty() ? "" : ", ") + types;
  }
  return fail(ErrorCode::kUnsupported, "{}: model_type {} can't be converted; known are {}",
              config.path(), gguf::printable(type), known);
}

Status add_config_keys(const Config& config, const Published& model, FileKeys& keys) {
  SHUNT_TRY(check_config_limits(config, model));
  for (const ConfigNumber& row : model.numbers) SHUNT_TRY(add_number(config, row, keys));
  for (const ConfigRule rule : model.rules) {
    const auto* const found = std::ranges::find(kRules, rule, &Rule::rule);
    SHUNT_TRY((found == std::end(kRules) ? add_nothing : found->add)(config, keys));
  }
  return ok();
}

}  // namespace shunt
