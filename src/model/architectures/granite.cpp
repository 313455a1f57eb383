// Granite 3: Llama with scales of embeddings, scores, residuals and logits.
#include "model/architectures/describe.h"
#include "model/published.h"
#include "shunt/message.h"

namespace shunt {

Status read_granite_scales(ArchitectureKeys& keys, Description& model) {
  const auto scale_of = [&](const char* key) -> Result<float> {
    SHUNT_ASSIGN(const float scale, keys.finite(key, 1));
    return scale == 0 ? 1 : scale;  // how some writers say "none"
  };
  SHUNT_ASSIGN(model.embedding_scale, scale_of("embedding_scale"));
  SHUNT_ASSIGN(model.residual_scale, scale_of("residual_scale"));
  SHUNT_ASSIGN(const float divisor, scale_of("logit_scale"));
  model.logit_scale = 1 / divisor;
  SHUNT_ASSIGN(const float scores, keys.finite("attention.scale", 0));
  for (Layer& layer : model.layers) {
    if (layer.attention) layer.attention->scale = scores;
  }
  return ok();
}

Status read_granite_rope(ArchitectureKeys& keys, Description& model) {
  SHUNT_ASSIGN(const bool turns, keys.flag_or("rope.scaling.finetuned", true));
  for (Layer& layer : model.layers) {
    if (layer.attention && !turns) layer.attention->rope.reset();
  }
  return ok();
}

Status describe_granite(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(describe_llama(keys, model));
  // Granite 4 has models without state spaces. Their files have the numbers of the hybrid ones.
  for (const char* of_hybrids :
       {"expert_shared_feed_forward_length", "ssm.conv_kernel", "ssm.state_size", "ssm.group_count",
        "ssm.inner_size", "ssm.time_step_rank"})
    (void)keys.has(of_hybrids);
  SHUNT_TRY(read_granite_rope(keys, model));
  return read_granite_scales(keys, model);
}

std::vector<Published> publish_granite() {
  using enum ConfigRule;
  using enum ConfigKind;
  const std::vector<ConfigNumber> scales = {{"attention.scale", "attention_multiplier", kNumber},
                                            {"embedding_scale", "embedding_multiplier", kNumber},
                                            {"residual_scale", "residual_multiplier", kNumber},
                                            {"logit_scale", "logits_scaling", kNumber},
                                            {"vocab_size", "vocab_size"}};
  std::vector<ConfigNumber> dense = decoder_numbers();
  dense.insert(dense.end(), scales.begin(), scales.end());
  std::vector<ConfigNumber> routed = routed_numbers(
      {{"expert_shared_feed_forward_length", "shared_intermediate_size", kCount, "-"}});
  routed.insert(routed.end(), scales.begin(), scales.end());
  return {{.types = "granite",
           .architecture = "granite",
           .numbers = dense,
           .rules = {kRopeDims, kRope},
           .limits = silu_only(),
           .tensors = paired()},
          {.types = "granitemoe|granitemoeshared",
           .architecture = "granitemoe",
           .numbers = routed,
           .rules = {kRopeDims, kRope},
           .limits = silu_only(),
           .tensors = paired(
               {{WeightSlot::kRouter, "block_sparse_moe.router.layer.weight"},
                {WeightSlot::kExpertGate, "block_sparse_moe.input_linear.weight", Rows::kFirstHalf},
                {WeightSlot::kExpertUp, "block_sparse_moe.input_linear.weight", Rows::kSecondHalf},
                {WeightSlot::kExpertDown, "block_sparse_moe.output_linear.weight"},
                {WeightSlot::kSharedGate, "shared_mlp.input_linear.weight", Rows::kFirstHalf},
                {WeightSlot::kSharedUp, "shared_mlp.input_linear.weight", Rows::kSecondHalf},
                {WeightSlot::kSharedDown, "shared_mlp.output_linear.weight"}})}};
}

}  // namespace shunt
