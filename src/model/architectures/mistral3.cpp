// Ministral 3 and Mistral Small 4's text part: Llama whose queries grow with the position.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_mistral3(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(describe_llama(keys, model));
  SHUNT_ASSIGN(const float temperature, keys.finite("attention.temperature_scale", 0));
  const char* const key = keys.has("attention.temperature_length")
                              ? "attention.temperature_length"
                              : "rope.scaling.original_context_length";
  if (temperature == 0) return ok();
  SHUNT_ASSIGN(const std::int64_t length, keys.count(key, kMostOfSize));
  for (Layer& layer : model.layers)
    layer.attention->temperature = {.scale = temperature, .length = length};
  return ok();
}

std::vector<Published> publish_mistral3() {
  using enum ConfigRule;
  return {{.types = "ministral3",
           .architecture = "mistral3",
           .numbers = decoder_numbers({{"vocab_size", "vocab_size"}}),
           .rules = {kHeads, kRopeDims, kRope, kTemperature, kNoWindow},
           .limits = silu_only(),
           .tensors = paired()}};
}

}  // namespace shunt
