// gpt-oss (arXiv 2508.10925): experts with biases and a gate of its own, windows in every second
// layer, and a sink for each head.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_gpt_oss(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_windows(
      keys, model, [](std::int64_t layer) { return layer % 2 == 0; }, -1));
  SHUNT_TRY(read_window_base(keys, model));
  SHUNT_TRY(read_feed_forward(keys, model));
  SHUNT_TRY(read_experts(keys, model, {.activation = Activation::kSwigluOai}));
  for (Layer& layer : model.layers) layer.attention->rope->whole_pairs = false;
  add_decoder_weights(model);
  add_query_biases(model);
  model.replace({WeightSlot::kFeedNorm, Need::kNeeded, "blk.{}.post_attention_norm.weight"});
  model.add({{WeightSlot::kSinks},
             {WeightSlot::kMixBias},
             {WeightSlot::kRouterBias},
             {WeightSlot::kExpertGateBias},
             {WeightSlot::kExpertUpBias},
             {WeightSlot::kExpertDownBias}});
  return ok();
}

std::vector<Published> publish_gpt_oss() {
  using enum ConfigRule;
  constexpr const char* kFused = "mlp.experts.gate_up_proj";
  constexpr const char* kBlocks = "mlp.experts.gate_up_proj_blocks";
  constexpr const char* kBias = "mlp.experts.gate_up_proj_bias";
  return {{.types = "gpt_oss",
           .architecture = "gpt-oss",
           .numbers = decoder_numbers({{"expert_count", "num_local_experts|num_experts"},
                                       {"expert_used_count", "num_experts_per_tok"},
                                       {"expert_feed_forward_length", "intermediate_size"}}),
           .rules = {kHeads, kRope, kWindow},
           .limits = silu_only({{"swiglu_limit", "7.0"},
                                {"swiglu_alpha", "1.702"},
                                {"rope_parameters.truncate|rope_scaling.truncate", "false"}}),
           .tensors = {{WeightSlot::kExpertGate, kBlocks, Rows::kEven},
                       {WeightSlot::kExpertGate, kFused, Rows::kEven, true},
                       {WeightSlot::kExpertGateBias, kBias, Rows::kEven},
                       {WeightSlot::kExpertUp, kBlocks, Rows::kOdd},
                       {WeightSlot::kExpertUp, kFused, Rows::kOdd, true},
                       {WeightSlot::kExpertUpBias, kBias, Rows::kOdd},
                       {WeightSlot::kExpertDown, "mlp.experts.down_proj_blocks"},
                       {WeightSlot::kExpertDown, "mlp.experts.down_proj", Rows::kAll, true},
                       {WeightSlot::kExpertDownBias, "mlp.experts.down_proj_bias"}}}};
}

}  // namespace shunt
