// Seed-OSS: Qwen 2 with another name of the norm before the feed-forward part. Biases are optional.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_seed_oss(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(describe_qwen2(keys, model));
  for (const WeightSlot bias :
       {WeightSlot::kQueryBias, WeightSlot::kKeyBias, WeightSlot::kValueBias})
    model.replace({bias, Need::kOptional});
  model.replace({WeightSlot::kFeedNorm, Need::kNeeded, "blk.{}.post_attention_norm.weight"});
  return ok();
}

std::vector<Published> publish_seed_oss() {
  using enum ConfigRule;
  return {{.types = "seed_oss",
           .architecture = "seed_oss",
           .numbers = decoder_numbers(),
           .rules = {kHeads, kRope},
           .limits = silu_only({{"attention_out_bias", "false"}, {"mlp_bias", "false"}})}};
}

}  // namespace shunt
