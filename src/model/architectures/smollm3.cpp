// SmolLM 3: Llama, but each fourth layer does not depend on positions.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_smollm3(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(describe_llama(keys, model));
  for (std::size_t i = 3; i < model.layers.size(); i += 4) model.layers[i].attention->rope.reset();
  return ok();
}

std::vector<Published> publish_smollm3() {
  using enum ConfigRule;
  return {{.types = "smollm3",
           .architecture = "smollm3",
           .numbers = decoder_numbers({{"vocab_size", "vocab_size"}}),
           .rules = {kHeads, kRopeDims, kRope},
           .limits = silu_only({{"use_sliding_window", "false"}}),
           .tensors = paired()}};
}

}  // namespace shunt
