// Qwen 3.5 and 3.6, text part: Qwen3-Next without experts. Text has the same position for all
// sections of rope.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_qwen35(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox, AttentionLayers::kSome));
  SHUNT_TRY(read_feed_forward(keys, model));
  (void)keys.has("rope.dimension_sections");
  add_decoder_weights(model);
  SHUNT_TRY(read_delta_nets(keys, model));
  for (Layer& layer : model.layers) {
    if (layer.delta_net) layer.delta_net->tiled = true;
  }
  SHUNT_TRY(skip_prediction_layers(keys, model));
  model.add({{WeightSlot::kDeltaStep}, {WeightSlot::kDeltaShare}});
  return ok();
}

std::vector<Published> publish_qwen35() {
  using enum ConfigRule;
  std::vector<PublishedTensor> tensors =
      one_more({{WeightSlot::kMixNorm, "input_layernorm.weight"},
                {WeightSlot::kFeedNorm, "post_attention_layernorm.weight"},
                {WeightSlot::kOutputNorm, "norm.weight"},
                {WeightSlot::kQueryNorm, "self_attn.q_norm.weight"},
                {WeightSlot::kKeyNorm, "self_attn.k_norm.weight"}});
  const auto tiled = [&](WeightSlot slot, std::string_view name, Order order = Order::kDeltaTiles,
                         Element element = Element::kSame) {
    tensors.push_back({.slot = slot, .name = name, .order = order, .element = element});
  };
  tiled(WeightSlot::kDeltaInput, "linear_attn.in_proj_qkv.weight");
  tiled(WeightSlot::kDeltaGate, "linear_attn.in_proj_z.weight");
  tiled(WeightSlot::kDeltaConvolution, "linear_attn.conv1d.weight");
  tiled(WeightSlot::kDeltaDecay, "linear_attn.A_log", Order::kDeltaTiles, Element::kNegativeExp);
  tiled(WeightSlot::kDeltaStepBias, "linear_attn.dt_bias");
  tiled(WeightSlot::kDeltaStep, "linear_attn.in_proj_a.weight");
  tiled(WeightSlot::kDeltaShare, "linear_attn.in_proj_b.weight");
  tiled(WeightSlot::kDeltaOutput, "linear_attn.out_proj.weight", Order::kDeltaTileColumns);
  const std::vector<ConfigRule> rules = {kHeads, kRopeDims, kRope, kDeltaNet, kRopeSections};
  return {{.types = "qwen3_5_text|qwen3_5",
           .architecture = "qwen35",
           .numbers = decoder_numbers(),
           .rules = rules,
           .limits = silu_only(),
           .tensors = tensors},
          {.types = "qwen3_5_moe_text|qwen3_5_moe",
           .architecture = "qwen35moe",
           .numbers = routed_numbers(
               {{"expert_shared_feed_forward_length", "shared_expert_intermediate_size"}}),
           .rules = rules,
           .limits = silu_only(),
           .tensors = tensors}};
}

}  // namespace shunt
