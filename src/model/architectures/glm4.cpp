// GLM 4 (0414): norms before and after each part, and one matrix for the gate and what it gates.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

namespace {

/// Files of GLM 4.1V and GLM-OCR have sections of rope, and another order of elements. Text has the
/// same position for all sections. Sections of 0 are none.
Result<bool> has_sections(ArchitectureKeys& keys) {
  constexpr const char* kSections = "rope.dimension_sections";
  if (!keys.has(kSections)) return false;
  SHUNT_ASSIGN(const auto sections,
               keys.file().get_array(keys.name(kSections), gguf::ValueType::kI64));
  return sections->integers.size() > 1 && sections->integers[0] > 0 && sections->integers[1] > 0;
}

}  // namespace

Status describe_glm4(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_ASSIGN(const bool sections, has_sections(keys));
  SHUNT_TRY(read_attention(keys, model, sections ? RopeMode::kNeox : RopeMode::kNormal));
  SHUNT_TRY(read_feed_forward(keys, model));
  SHUNT_TRY(skip_prediction_layers(keys, model));
  for (Layer& layer : model.layers) layer.feed_forward->fused = true;
  add_decoder_weights(model);
  add_query_biases(model, Need::kOptional);
  model.remove({WeightSlot::kGate});
  model.add({{WeightSlot::kPostMixNorm}, {WeightSlot::kPostFeedNorm}});
  return ok();
}

std::vector<Published> publish_glm4() {
  using enum ConfigRule;
  return {{.types = "glm4",
           .architecture = "glm4",
           .numbers = decoder_numbers(),
           .rules = {kHeads, kRopeDims, kRope},
           .limits = silu_only(),
           .tensors = {{WeightSlot::kPostMixNorm, "post_self_attn_layernorm.weight"},
                       {WeightSlot::kPostFeedNorm, "post_mlp_layernorm.weight"}}}};
}

}  // namespace shunt
