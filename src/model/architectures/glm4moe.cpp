// GLM 4.5 to 4.7 with experts (arXiv 2508.06471): groups of experts, chosen with a bias.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_glm4moe(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model));
  SHUNT_TRY(skip_prediction_layers(keys, model));
  (void)keys.has("rope.dimension_sections");  // of GLM 4.5V; text has the same position for all
  SHUNT_TRY(read_experts(keys, model, {.routing = Routing::kSigmoid, .grouped = true}));
  SHUNT_TRY(read_shared_expert(keys, model));
  add_decoder_weights(model);
  add_query_biases(model, Need::kOptional);
  model.replace({WeightSlot::kFeedNorm, Need::kNeeded, "blk.{}.post_attention_norm.weight"});
  model.add({{WeightSlot::kQueryNorm, Need::kOptional},
             {WeightSlot::kKeyNorm, Need::kOptional},
             {WeightSlot::kSelectionBias}});
  return ok();
}

std::vector<Published> publish_glm4moe() {
  using enum ConfigRule;
  using enum ConfigKind;
  return {
      {.types = "glm4_moe",
       .architecture = "glm4moe",
       .numbers = routed_numbers({{"expert_shared_count", "n_shared_experts"},
                                  {"expert_group_count", "n_group", kCount, "1"},
                                  {"expert_group_used_count", "topk_group", kCount, "1"},
                                  {"expert_weights_scale", "routed_scaling_factor", kNumber, "1"},
                                  {"expert_weights_norm", "norm_topk_prob", kFlag, "true"}}),
       .rules = {kHeads, kRopeDims, kRope, kLeadingDense, kSigmoidRouter},
       .limits = silu_only()}};
}

}  // namespace shunt
