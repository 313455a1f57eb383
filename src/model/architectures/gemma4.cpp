// Gemma 4, text part: windows whose heads have sizes of their own, layers that read the keys and
// values of others, an embedding for each layer, and experts beside the feed-forward part.
#include <cmath>

#include "base/to_size.h"
#include "model/architectures/describe.h"
#include "model/published.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// Heads and rope of layers with windows.
Status read_window_heads(ArchitectureKeys& keys, Description& model) {
  const Attention& first = *model.layers[0].attention;
  SHUNT_ASSIGN(const std::int64_t key_size,
               keys.count("attention.key_length_swa", kMostOfSize, first.key_size));
  SHUNT_ASSIGN(const std::int64_t value_size,
               keys.count("attention.value_length_swa", kMostOfSize, first.value_size));
  SHUNT_ASSIGN(const std::int64_t dims, keys.count("rope.dimension_count_swa", key_size, key_size));
  if (dims % 2 != 0) {
    return fail(ErrorCode::kBadFile, "{}: {} is {}; it must be even", keys.file().path(),
                keys.name("rope.dimension_count_swa"), dims);
  }
  SHUNT_TRY(read_window_rope(keys, model, 10000));
  for (Layer& layer : model.layers) {
    Attention& attention = *layer.attention;
    attention.scale = 1;
    attention.unit_values = true;
    if (attention.span != AttentionSpan::kSlidingWindow) continue;
    attention.key_size = key_size;
    attention.value_size = value_size;
    attention.rope->dims = dims;
    attention.rope_factors = false;
  }
  return ok();
}

/// The last layers read keys and values of the last layer of their kind that has its own.
Status share_keys(ArchitectureKeys& keys, Description& model) {
  const std::int64_t layers = std::ssize(model.layers);
  SHUNT_ASSIGN(const std::int64_t shared,
               keys.count_or_zero("attention.shared_kv_layers", layers - 1));
  const std::int64_t own = layers - shared;
  for (std::int64_t number = own; number < layers; ++number) {
    Attention& attention = *model.layers[to_size(number)].attention;
    std::int64_t from = own - 1;
    while (from >= 0 && model.layers[to_size(from)].attention->span != attention.span) --from;
    if (from < 0) {
      return fail(ErrorCode::kBadFile, "{}: no layer has keys and values that layer {} can read",
                  keys.file().path(), number);
    }
    const Attention& source = *model.layers[to_size(from)].attention;
    if (source.kv_heads != attention.kv_heads || source.key_size != attention.key_size) {
      return fail(ErrorCode::kBadFile,
                  "{}: layer {} has {} heads of keys, but layer {}, whose keys it reads, has {}",
                  keys.file().path(), number, attention.kv_heads, from, source.kv_heads);
    }
    attention.keys_of = from;
  }
  return ok();
}

}  // namespace

Status describe_gemma4(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model, Activation::kGelu));
  SHUNT_TRY(read_windows(
      keys, model, [](std::int64_t layer) { return layer % 6 != 5; }, -1));
  SHUNT_TRY(read_window_heads(keys, model));
  SHUNT_TRY(share_keys(keys, model));
  SHUNT_ASSIGN(model.logit_softcap, keys.finite("final_logit_softcapping", 0));
  SHUNT_ASSIGN(model.layer_input, keys.count_or_zero("embedding_length_per_layer_input", 1 << 20));
  model.embedding_scale = std::sqrt(static_cast<float>(model.width));
  add_decoder_weights(model);
  model.replace({WeightSlot::kValue, Need::kOptional});  // without it keys are values, too
  model.add({{WeightSlot::kQueryNorm},
             {WeightSlot::kKeyNorm},
             {WeightSlot::kPostMixNorm},
             {WeightSlot::kPostFeedNorm},
             {WeightSlot::kRopeFactors, Need::kOptional},
             {WeightSlot::kLayerScale, need_as_in_others(keys, model, WeightSlot::kLayerScale)}});
  if (model.layer_input > 0) {
    model.add({{WeightSlot::kLayerEmbedding},
               {WeightSlot::kLayerModelProjection},
               {WeightSlot::kLayerProjectionNorm},
               {WeightSlot::kLayerInputGate},
               {WeightSlot::kLayerInputProjection},
               {WeightSlot::kPostLayerInputNorm}});
  }
  SHUNT_ASSIGN(const std::int64_t experts, keys.count_or_zero("expert_count", kMostOfSize));
  if (experts == 0) return ok();
  const std::vector<Layer> dense = model.layers;
  SHUNT_TRY(read_experts(keys, model, {.fused_if_new = true, .activation = Activation::kGelu}));
  for (std::size_t i = 0; i < dense.size(); ++i) {
    model.layers[i].feed_forward = dense[i].feed_forward;
  }
  model.add({{WeightSlot::kRouterScale},
             {WeightSlot::kExpertScale},
             {WeightSlot::kPostDenseNorm},
             {WeightSlot::kExpertsNorm},
             {WeightSlot::kPostExpertsNorm}});
  return ok();
}

std::vector<Published> publish_gemma4() {
  using enum ConfigRule;
  using enum ConfigKind;
  return {
      {.types = "gemma4_text|gemma4",
       .architecture = "gemma4",
       .numbers = {{"block_count", "num_hidden_layers"},
                   {"context_length", "max_position_embeddings"},
                   {"embedding_length", "hidden_size"},
                   {"attention.head_count", "num_attention_heads"},
                   {"attention.layer_norm_rms_epsilon", "rms_norm_eps", kNumber, "1e-6"},
                   {"attention.shared_kv_layers", "num_kv_shared_layers", kCount, "0"},
                   {"embedding_length_per_layer_input", "hidden_size_per_layer_input", kCount, "0"},
                   {"final_logit_softcapping", "final_logit_softcapping", kNumber, "-"},
                   {"expert_count", "num_experts", kCount, "-"},
                   {"expert_used_count", "top_k_experts", kCount, "-"},
                   {"expert_feed_forward_length", "moe_intermediate_size", kCount, "-"}},
       .rules = {kGemma4, kWindowRope, kWindowPattern},
       .limits = {{"hidden_activation|hidden_act", R"("gelu_pytorch_tanh")"},
                  {"use_bidirectional_attention", R"(false|"vision")"}},
       .tensors = {{WeightSlot::kFeedNorm, "pre_feedforward_layernorm.weight"},
                   {WeightSlot::kRouter, "router.proj.weight"},
                   {WeightSlot::kRouterScale, "router.scale"},
                   {WeightSlot::kExpertScale, "router.per_expert_scale"},
                   {WeightSlot::kExpertDown, "experts.down_proj"},
                   {WeightSlot::kPostDenseNorm, "post_feedforward_layernorm_1.weight"},
                   {WeightSlot::kExpertsNorm, "pre_feedforward_layernorm_2.weight"},
                   {WeightSlot::kPostExpertsNorm, "post_feedforward_layernorm_2.weight"}}}};
}

}  // namespace shunt
