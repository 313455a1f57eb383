// Qwen 3 with experts (arXiv 2505.09388).
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_qwen3moe(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(describe_qwen3(keys, model));
  return read_experts(keys, model, {});
}

std::vector<Published> publish_qwen3moe() {
  using enum ConfigRule;
  return {{.types = "qwen3_moe",
           .architecture = "qwen3moe",
           .numbers = routed_numbers(),
           .rules = {kHeads, kRope},
           .limits = silu_only({{"use_sliding_window", "false"},
                                {"norm_topk_prob", "true"},
                                {"decoder_sparse_step", "1"},
                                {"mlp_only_layers", "[]"}})}};
}

}  // namespace shunt
