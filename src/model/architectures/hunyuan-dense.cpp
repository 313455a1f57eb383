// Hunyuan, dense: each head of queries and keys is normed after rope.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_hunyuan_dense(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(describe_qwen3(keys, model));
  for (Layer& layer : model.layers) layer.attention->norms_after_rope = true;
  return ok();
}

std::vector<Published> publish_hunyuan_dense() {
  using enum ConfigRule;
  return {{.types = "hunyuan_v1_dense",
           .architecture = "hunyuan-dense",
           .numbers = decoder_numbers(),
           .rules = {kHeads, kRope},
           .limits = silu_only(),
           .tensors = {{WeightSlot::kQueryNorm, "self_attn.query_layernorm.weight"},
                       {WeightSlot::kKeyNorm, "self_attn.key_layernorm.weight"}}}};
}

}  // namespace shunt
