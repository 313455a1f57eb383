// Qwen 3 (arXiv 2505.09388): each head of queries and keys is normed before rope.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_qwen3(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model));
  add_decoder_weights(model);
  model.add({{WeightSlot::kQueryNorm}, {WeightSlot::kKeyNorm}});
  return ok();
}

std::vector<Published> publish_qwen3() {
  using enum ConfigRule;
  return {{.types = "qwen3",
           .architecture = "qwen3",
           .numbers = decoder_numbers(),
           .rules = {kHeads, kRope},
           .limits = silu_only({{"use_sliding_window", "false"}})}};
}

}  // namespace shunt
