// Falcon-H1 (arXiv 2507.22448): each layer adds attention and a state space.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_falcon_h1(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model));
  SHUNT_ASSIGN(const StateSpace space, read_state_space(keys));
  for (Layer& layer : model.layers) layer.state_space = space;
  add_decoder_weights(model);
  add_state_space_weights(model);
  // Files have this name without the usual ending; some were mended.
  if (keys.file().find_tensor(name_of({WeightSlot::kFeedNorm}, 0)) == nullptr)
    model.replace({WeightSlot::kFeedNorm, Need::kNeeded, "blk.{}.ffn_norm"});
  model.add({{WeightSlot::kSpaceNorm, Need::kOptional}});
  return ok();
}

std::vector<Published> publish_falcon_h1() {
  using enum ConfigRule;
  return {{.types = "falcon_h1",
           .architecture = "falcon-h1",
           .numbers = decoder_numbers(),
           .rules = {kHeads, kRope, kStateSpace},
           .limits = silu_only({{"mamba_proj_bias", "false"},
                                {"projectors_bias", "false"},
                                {"mamba_norm_before_gate", "false"},
                                {"attention_in_multiplier", "1.0"},
                                {"attention_out_multiplier", "1.0"},
                                {"embedding_multiplier", "1.0"},
                                {"key_multiplier", "1.0"},
                                {"lm_head_multiplier", "1.0"},
                                {"mlp_multipliers", "[1.0,1.0]"},
                                {"ssm_in_multiplier", "1.0"},
                                {"ssm_out_multiplier", "1.0"},
                                {"ssm_multipliers", "[1.0,1.0,1.0,1.0,1.0]"}}),
           .tensors = {{WeightSlot::kFeedNorm, "pre_ff_layernorm.weight"},
                       {WeightSlot::kGate, "feed_forward.gate_proj.weight"},
                       {WeightSlot::kUp, "feed_forward.up_proj.weight"},
                       {WeightSlot::kDown, "feed_forward.down_proj.weight"}}}};
}

}  // namespace shunt
