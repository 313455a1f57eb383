// Nomic Embed 2 (arXiv 2502.07972): Nomic Embed with biases, and without gates. Layers 1, 3, ...
// have experts.
#include "model/architectures/describe.h"

namespace shunt {

Status describe_nomic_bert_moe(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model, NormKind::kLayer));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model, Activation::kGeluErf));
  const std::vector<Layer> dense = model.layers;
  SHUNT_TRY(read_experts(keys, model, {.normalized = false, .activation = Activation::kGeluErf}));
  constexpr std::int64_t kPublished = 2;
  SHUNT_ASSIGN(const std::int64_t period,
               keys.count("moe_every_n_layers", kMostOfCount, kPublished));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (static_cast<std::int64_t>(i) % period != 1) model.layers[i] = dense[i];
  }
  SHUNT_TRY(become_encoder(keys, model));
  SHUNT_TRY(read_token_types(keys, model));
  model.remove({WeightSlot::kExpertGate});
  model.add({{WeightSlot::kQueryKeyValue},
             {WeightSlot::kQueryKeyValueBias, Need::kOptional},
             {WeightSlot::kMixBias, Need::kOptional},
             {WeightSlot::kUpBias, Need::kOptional},
             {WeightSlot::kDownBias, Need::kOptional}});
  return ok();
}

}  // namespace shunt
