// EuroBERT (arXiv 2503.05500): Llama whose tokens see those after them.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_eurobert(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model));
  SHUNT_TRY(become_encoder(keys, model));
  add_decoder_weights(model);
  model.remove({WeightSlot::kOutput});
  return ok();
}

std::vector<Published> publish_eurobert() {
  using enum ConfigRule;
  return {{.types = "eurobert",
           .architecture = "eurobert",
           .numbers = decoder_numbers(),
           .rules = {kHeads, kRope, kNoRope, kEncoder},
           .limits = silu_only({{"attention_bias", "false"}, {"mlp_bias", "false"}})}};
}

}  // namespace shunt
