// Granite 4: state spaces, and attention without positions in some layers.
#include "model/architectures/describe.h"
#include "model/architectures/published_list.h"

namespace shunt {

Status describe_granitehybrid(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(describe_like_llama(keys, model, AttentionLayers::kSome));
  SHUNT_TRY(read_granite_scales(keys, model));
  SHUNT_TRY(read_shared_expert(keys, model));
  SHUNT_ASSIGN(const StateSpace space, read_state_space(keys));
  SHUNT_TRY(read_granite_rope(keys, model));
  for (Layer& layer : model.layers) {
    if (!layer.attention) layer.state_space = space;
  }
  add_state_space_weights(model);
  model.add({{WeightSlot::kSpaceNorm}});
  return ok();
}

std::vector<Published> publish_granitehybrid() {
  using enum ConfigRule;
  using enum ConfigKind;
  std::vector<Published> models = publish_granite();
  Published model = std::move(models.back());  // with experts
  model.types = "granitemoehybrid";
  model.architecture = "granitehybrid";
  model.rules = {kRopeDims, kRope, kStateSpace, kSpaceLayers};
  model.limits = silu_only({{"mamba_proj_bias", "false"}, {"attention_bias", "false"}});
  model.tensors.insert(model.tensors.end(),
                       {{WeightSlot::kGate, "shared_mlp.input_linear.weight", Rows::kFirstHalf},
                        {WeightSlot::kUp, "shared_mlp.input_linear.weight", Rows::kSecondHalf},
                        {WeightSlot::kDown, "shared_mlp.output_linear.weight"}});
  return {std::move(model)};
}

}  // namespace shunt
