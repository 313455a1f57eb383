// Llama (arXiv 2302.13971) and all that is built like it: Mistral, Mixtral with experts, and
// others.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_llama(ArchitectureKeys& keys, Description& model) {
  return describe_like_llama(keys, model, AttentionLayers::kAll);
}

Status describe_like_llama(ArchitectureKeys& keys, Description& model, AttentionLayers layers) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNormal, layers));
  SHUNT_TRY(read_yarn_multiplier(keys, model));
  SHUNT_TRY(read_feed_forward(keys, model));
  add_decoder_weights(model);
  add_query_biases(model, Need::kOptional);
  model.add({{WeightSlot::kRopeFactors, Need::kOptional},
             {WeightSlot::kMixBias, Need::kOptional},
             {WeightSlot::kGateBias, Need::kOptional},
             {WeightSlot::kUpBias, Need::kOptional},
             {WeightSlot::kDownBias, Need::kOptional}});
  SHUNT_ASSIGN(const std::int64_t experts, keys.count_or_zero("expert_count", kMostOfSize));
  if (experts == 0) return ok();
  return read_experts(keys, model, {});
}

std::vector<Published> publish_llama() {
  using enum ConfigRule;
  const std::vector<ConfigRule> rules = {kHeads, kRopeDims, kRope, kNoWindow};
  return {{.types = "llama|mistral",
           .architecture = "llama",
           .numbers = decoder_numbers({{"vocab_size", "vocab_size"}}),
           .rules = rules,
           .limits = silu_only(),
           .tensors = paired()},
          {.types = "mixtral",
           .architecture = "llama",
           .numbers = routed_numbers({{"vocab_size", "vocab_size"}}),
           .rules = rules,
           .limits = silu_only(),
           .tensors = paired()}};
}

}  // namespace shunt
