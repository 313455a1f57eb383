// Qwen 2 and 2.5 (arXiv 2407.10671): Llama with biases of queries, keys and values.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_qwen2(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model));
  add_decoder_weights(model);
  // KORMo has none.
  const Need need =
      keys.of_new_model() ? Need::kNeeded : need_as_in_others(keys, model, WeightSlot::kQueryBias);
  add_query_biases(model, need);
  return ok();
}

std::vector<Published> publish_qwen2() {
  using enum ConfigRule;
  return {{.types = "qwen2",
           .architecture = "qwen2",
           .numbers = decoder_numbers(),
           .rules = {kHeads, kRope},
           .limits = silu_only({{"use_sliding_window", "false"}})}};
}

}  // namespace shunt
