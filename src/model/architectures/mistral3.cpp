// Ministral 3: Llama whose queries grow with the position.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_mistral3(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(describe_llama(keys, model));
  SHUNT_ASSIGN(const QueryTemperature temperature, read_temperature(keys));
  for (Layer& layer : model.layers) layer.attention->temperature = temperature;
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
