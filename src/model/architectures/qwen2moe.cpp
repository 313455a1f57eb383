// Qwen 1.5 and 2 with experts (arXiv 2407.10671): a shared expert has a gate of its own.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_qwen2moe(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(describe_qwen2(keys, model));
  const std::int64_t dense = model.layers[0].feed_forward ? model.layers[0].feed_forward->size : 0;
  model.add({{WeightSlot::kSharedRouter}});
  SHUNT_TRY(read_experts(keys, model, {.normalized = false, .parts = true}));
  SHUNT_TRY(read_shared_expert(keys, model));
  // Files of 2024 lack both sizes.
  for (Layer& layer : model.layers) {
    if (layer.experts && layer.experts->shared_size == 0) layer.experts->shared_size = dense;
  }
  return ok();
}

std::vector<Published> publish_qwen2moe() {
  using enum ConfigRule;
  return {{.types = "qwen2_moe",
           .architecture = "qwen2moe",
           .numbers = routed_numbers(
               {{"expert_shared_feed_forward_length", "shared_expert_intermediate_size"}}),
           .rules = {kHeads, kRope},
           .limits = silu_only({{"use_sliding_window", "false"},
                                {"norm_topk_prob", "false"},
                                {"decoder_sparse_step", "1"},
                                {"mlp_only_layers", "[]"}})}};
}

}  // namespace shunt
