// DeepSeek V2 (arXiv 2405.04434), V3 and R1 (arXiv 2412.19437), Kimi K2, GLM 4.7 Flash: latent
// attention and experts in groups. Mistral Large 3: the same, and queries grow with the position.
#include <cmath>

#include "model/architectures/describe.h"
#include "model/published.h"
#include "model/rope_scaling.h"
#include "shunt/message.h"

namespace shunt {

namespace {

Result<LatentAttention> read_latent_attention(ArchitectureKeys& keys) {
  const auto count = [&](const char* key) { return keys.count(key, kMostOfSize); };
  LatentAttention made;
  if (keys.file().find_tensor("blk.0.attn_kv_b.weight") != nullptr) {
    return fail(ErrorCode::kUnsupported,
                "{}: tensor blk.0.attn_kv_b.weight is of a form of 2024; `shunt convert {} OUT` "
                "makes attn_k_b and attn_v_b of it",
                keys.file().path(), keys.file().path());
  }
  SHUNT_ASSIGN(made.heads, count("attention.head_count"));
  SHUNT_ASSIGN(made.query_rank, keys.count_or_zero("attention.q_lora_rank", kMostOfSize));
  SHUNT_ASSIGN(made.rank, count("attention.kv_lora_rank"));
  SHUNT_ASSIGN(made.key_size, count("attention.key_length_mla"));
  SHUNT_ASSIGN(made.value_size, count("attention.value_length_mla"));
  SHUNT_ASSIGN(const std::int64_t turned, keys.count("rope.dimension_count", made.key_size));
  if (turned % 2 != 0 || turned == made.key_size) {
    return fail(ErrorCode::kBadFile, "{}: {} is {}; it must be even, and below the {} of a key",
                keys.file().path(), keys.name("rope.dimension_count"), turned, made.key_size);
  }
  SHUNT_ASSIGN(made.rope, read_rope(keys, turned, RopeMode::kNormal));
  SHUNT_ASSIGN(made.temperature, read_temperature(keys));
  made.scale = 1 / std::sqrt(static_cast<float>(made.key_size));
  // A file that has the multiplier of YaRN's growth says so of the training: scores have it
  // squared, and rope has none.
  SHUNT_ASSIGN(const float multiplier, keys.finite("rope.scaling.yarn_log_multiplier", 0));
  if (multiplier != 0 && made.rope.ext_factor != 0) {
    const float stretched = -std::log(made.rope.freq_scale);
    const float growth = 1 + multiplier * stretched;
    made.scale *= growth * growth;
    SHUNT_ASSIGN(const bool is_stated, states_yarn_factor(keys));
    if (!is_stated) made.rope.attn_factor /= static_cast<float>(yarn_growth(made.rope));
  }
  // The sizes of a cached row, which follow from the others.
  const auto check = [&](const char* key, std::int64_t expected) -> Status {
    SHUNT_ASSIGN(const std::int64_t stated, keys.count(key, kMostOfSize, expected));
    if (stated == expected) return ok();
    return fail(ErrorCode::kBadFile, "{}: {} is {}; by the ranks it should be {}",
                keys.file().path(), keys.name(key), stated, expected);
  };
  SHUNT_TRY(check("attention.key_length", made.row_size()));
  SHUNT_TRY(check("attention.value_length", made.rank));
  SHUNT_TRY(check("attention.head_count_kv", 1));
  return made;
}

/// Experts in groups, and a shared one; none in a dense model (Youtu-LLM).
Status read_deepseek_experts(ArchitectureKeys& keys, Description& model) {
  SHUNT_ASSIGN(const std::int64_t experts, keys.count_or_zero("expert_count", kMostOfSize));
  if (experts == 0 && !keys.of_new_model()) {
    for (const char* of_experts :
         {"leading_dense_block_count", "expert_feed_forward_length", "expert_shared_count",
          "expert_weights_scale", "expert_weights_norm", "expert_gating_func", "expert_group_count",
          "expert_group_used_count"})
      (void)keys.has(of_experts);
    return ok();
  }
  // Of V3 on: scores are sigmoids where the choice has a bias.
  const WeightRow bias = {WeightSlot::kSelectionBias,
                          need_as_in_others(keys, model, WeightSlot::kSelectionBias)};
  const bool chosen_with_bias = bias.need == Need::kNeeded;
  ReadExperts how = {.routing = chosen_with_bias ? Routing::kSigmoid : Routing::kSoftmax,
                     .normalized = false,
                     .grouped = true};
  // Files of the first years lack the groups of the two published sizes that have some.
  constexpr std::int64_t kExpertsOfV2 = 160;
  constexpr std::int64_t kExpertsOfV3 = 256;
  if (experts == kExpertsOfV2 || experts == kExpertsOfV3) {
    how.groups = 8;
    how.groups_used = experts == kExpertsOfV2 ? 3 : 4;
  }
  SHUNT_TRY(read_experts(keys, model, how));
  SHUNT_TRY(read_shared_expert(keys, model));
  model.add({bias});
  return ok();
}

}  // namespace

Status describe_deepseek2(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_ASSIGN(const LatentAttention attention, read_latent_attention(keys));
  SHUNT_TRY(read_feed_forward(keys, model));
  SHUNT_TRY(skip_prediction_layers(keys, model));
  SHUNT_TRY(read_deepseek_experts(keys, model));
  for (Layer& layer : model.layers) layer.latent_attention = attention;
  add_decoder_weights(model);
  model.remove({WeightSlot::kQuery, WeightSlot::kKey, WeightSlot::kValue, WeightSlot::kMix});
  model.add({{WeightSlot::kLatentQuery},
             {WeightSlot::kQueryDown},
             {WeightSlot::kQueryDownNorm},
             {WeightSlot::kQueryUp},
             {WeightSlot::kLatentDown},
             {WeightSlot::kLatentNorm},
             {WeightSlot::kKeyUp},
             {WeightSlot::kValueUp},
             {WeightSlot::kLatentMix}});
  return ok();
}

std::vector<Published> publish_deepseek2() {
  using enum ConfigRule;
  using enum ConfigKind;
  std::vector<ConfigNumber> numbers = {
      {"block_count", "num_hidden_layers"},
      {"context_length", "max_position_embeddings"},
      {"embedding_length", "hidden_size"},
      {"vocab_size", "vocab_size"},
      {"feed_forward_length", "intermediate_size"},
      {"attention.head_count", "num_attention_heads"},
      {"attention.layer_norm_rms_epsilon", "rms_norm_eps", kNumber, "1e-6"},
      {"expert_count", "n_routed_experts"},
      {"expert_used_count", "num_experts_per_tok"},
      {"expert_feed_forward_length", "moe_intermediate_size"},
      {"expert_shared_count", "n_shared_experts"},
      {"expert_weights_scale", "routed_scaling_factor", kNumber, "1"},
      {"expert_weights_norm", "norm_topk_prob", kFlag, "false"},
      {"expert_group_count", "n_group", kCount, "-"},
      {"expert_group_used_count", "topk_group", kCount, "-"}};
  const std::vector<ConfigRule> rules = {kLatent, kLatentRope, kLeadingDense};
  Published v2 = {.types = "deepseek_v2", .architecture = "deepseek2", .numbers = numbers};
  v2.rules = rules;
  v2.limits = silu_only({{"topk_method", R"("greedy"|"group_limited_greedy")"},
                         {"scoring_func", R"("softmax")"},
                         {"norm_topk_prob", "false"}});
  Published v3 = {.types = "deepseek_v3|kimi_k2|glm4_moe_lite",
                  .architecture = "deepseek2",
                  .numbers = std::move(numbers)};
  v3.rules = rules;
  v3.rules.push_back(kSigmoidRouter);
  v3.limits = silu_only({{"topk_method", R"("noaux_tc")"},
                         {"scoring_func", R"("sigmoid")"},
                         {"rope_interleave", "true"}});
  return {std::move(v2), std::move(v3)};
}

}  // namespace shunt
