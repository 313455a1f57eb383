// Mamba 2 (arXiv 2405.21060): state spaces only.
#include "model/architectures/describe.h"
#include "model/published.h"
#include "shunt/message.h"

namespace shunt {

Result<StateSpace> read_state_space(ArchitectureKeys& keys) {
  const auto count = [&](const char* key) { return keys.count(key, kMostOfSize); };
  StateSpace space;
  SHUNT_ASSIGN(space.taps, count("ssm.conv_kernel"));
  SHUNT_ASSIGN(space.state_size, count("ssm.state_size"));
  SHUNT_ASSIGN(space.groups, count("ssm.group_count"));
  SHUNT_ASSIGN(space.heads, count("ssm.time_step_rank"));
  SHUNT_ASSIGN(const std::int64_t inner, count("ssm.inner_size"));
  if (inner % space.heads != 0 || space.heads % space.groups != 0) {
    return fail(ErrorCode::kBadFile, "{}: {} of {} can't be shared evenly by {} heads in {} groups",
                keys.file().path(), keys.name("ssm.inner_size"), inner, space.heads, space.groups);
  }
  space.head_size = inner / space.heads;
  return space;
}

void add_state_space_weights(Description& model) {
  model.add({{WeightSlot::kSpaceInput},
             {WeightSlot::kSpaceConvolution},
             {WeightSlot::kSpaceConvolutionBias, Need::kOptional},
             {WeightSlot::kSpaceDecay},
             {WeightSlot::kSpaceSkip},
             {WeightSlot::kSpaceStepBias},
             {WeightSlot::kSpaceOutput}});
}

Status describe_mamba2(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_ASSIGN(const StateSpace space, read_state_space(keys));
  for (Layer& layer : model.layers) layer.state_space = space;
  (void)keys.has("attention.head_count");
  (void)keys.has("feed_forward_length");
  add_state_space_weights(model);
  model.add({{WeightSlot::kEmbedding},
             {WeightSlot::kOutputNorm},
             {WeightSlot::kOutput, Need::kOptional},
             {WeightSlot::kMixNorm},
             {WeightSlot::kSpaceNorm}});
  return ok();
}

std::vector<Published> publish_mamba2() {
  using enum ConfigRule;
  constexpr Element kDecay = Element::kNegativeExp;
  return {{.types = "mamba2",
           .architecture = "mamba2",
           .numbers = {{"block_count", "num_hidden_layers"},
                       {"embedding_length", "hidden_size"},
                       {"attention.layer_norm_rms_epsilon", "layer_norm_epsilon",
                        ConfigKind::kNumber, "1e-5"}},
           .rules = {kMambaOnly, kStateSpace},
           .limits = silu_only({{"use_bias", "false"}}),
           .tensors = {{WeightSlot::kMixNorm, "norm.weight"},
                       {WeightSlot::kOutputNorm, "norm_f.weight"},
                       {WeightSlot::kSpaceInput, "mixer.in_proj.weight"},
                       {WeightSlot::kSpaceConvolution, "mixer.conv1d.weight"},
                       {WeightSlot::kSpaceConvolutionBias, "mixer.conv1d.bias"},
                       {.slot = WeightSlot::kSpaceDecay, .name = "mixer.A_log", .element = kDecay},
                       {WeightSlot::kSpaceSkip, "mixer.D"},
                       {WeightSlot::kSpaceStepBias, "mixer.dt_bias"},
                       {WeightSlot::kSpaceNorm, "mixer.norm.weight"},
                       {WeightSlot::kSpaceOutput, "mixer.out_proj.weight"}}}};
}

}  // namespace shunt
