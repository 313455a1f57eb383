// MiniMax M2: norms of all queries and all keys of a token, and experts chosen with a bias.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_minimax_m2(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model));
  SHUNT_TRY(read_experts(keys, model, {.routing = Routing::kSigmoid}));
  add_decoder_weights(model);
  model.add(
      {{WeightSlot::kFullQueryNorm}, {WeightSlot::kFullKeyNorm}, {WeightSlot::kSelectionBias}});
  return ok();
}

std::vector<Published> publish_minimax_m2() {
  using enum ConfigRule;
  return {{.types = "minimax_m2",
           .architecture = "minimax-m2",
           .numbers = decoder_numbers({{"expert_count", "num_local_experts"},
                                       {"expert_used_count", "num_experts_per_tok"},
                                       {"expert_feed_forward_length", "intermediate_size"}}),
           .rules = {kHeads, kRopeDims, kRope},
           .limits = silu_only({{"use_qk_norm", "true"}, {"scoring_func", R"("sigmoid")"}})}};
}

}  // namespace shunt
