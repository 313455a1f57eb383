// Command R7B and Command A (arXiv 2504.00698): layer norms without bias, attention beside the
// feed-forward part, and windows in three of four layers. The others do not depend on positions.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_cohere2(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model, NormKind::kLayer));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNormal));
  SHUNT_TRY(read_feed_forward(keys, model));
  SHUNT_TRY(read_windows(
      keys, model, [](std::int64_t layer) { return layer % 4 != 3; }, -1));
  SHUNT_TRY(read_window_base(keys, model));
  SHUNT_ASSIGN(model.logit_scale, keys.finite("logit_scale", 1));
  if (model.logit_scale == 0) model.logit_scale = 1;  // how some writers say "none"
  for (Layer& layer : model.layers) {
    Attention& attention = *layer.attention;
    if (attention.span == AttentionSpan::kCausal) attention.rope.reset();
  }
  model.parallel = true;
  add_decoder_weights(model);
  model.remove({WeightSlot::kFeedNorm});
  return ok();
}

std::vector<Published> publish_cohere2() {
  using enum ConfigRule;
  return {{.types = "cohere2",
           .architecture = "cohere2",
           .numbers = {{"block_count", "num_hidden_layers"},
                       {"context_length", "max_position_embeddings"},
                       {"embedding_length", "hidden_size"},
                       {"feed_forward_length", "intermediate_size"},
                       {"attention.head_count", "num_attention_heads"},
                       {"attention.head_count_kv", "num_key_value_heads"},
                       {"attention.layer_norm_epsilon", "layer_norm_eps", ConfigKind::kNumber},
                       {"logit_scale", "logit_scale", ConfigKind::kNumber}},
           .rules = {kHeads, kRopeDims, kRope, kNoRope, kWindow},
           .limits = silu_only({{"use_qk_norm", "false"}, {"attention_bias", "false"}})}};
}

}  // namespace shunt
