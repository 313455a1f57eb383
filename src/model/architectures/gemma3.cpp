// Gemma 3 (arXiv 2503.19786): norms of queries and keys, and windows in five of six layers, which
// have a rope of their own. Norm weights of files have their 1 added.
#include <cmath>

#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_gemma3(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model, Activation::kGelu));
  SHUNT_TRY(read_windows(
      keys, model, [](std::int64_t layer) { return layer % 6 != 5; }, -1));
  SHUNT_TRY(read_window_rope(keys, model, 10000));
  SHUNT_ASSIGN(model.logit_softcap, keys.finite("final_logit_softcapping", 0));
  model.embedding_scale = std::sqrt(static_cast<float>(model.width));
  // Most files do not have the scale of scores. It is that of the head size, but for the 27B model.
  SHUNT_ASSIGN(const float scores, keys.finite("attention.scale", 0));
  constexpr std::size_t kLayersOf27B = 62;
  for (Layer& layer : model.layers) {
    Attention& attention = *layer.attention;
    attention.scale = scores;
    if (scores == 0 && model.layers.size() == kLayersOf27B) {
      const std::int64_t width_of_head = model.width / attention.heads;
      attention.scale = 1 / std::sqrt(static_cast<float>(width_of_head));
    }
  }
  add_decoder_weights(model);
  model.add({{WeightSlot::kQueryNorm},
             {WeightSlot::kKeyNorm},
             {WeightSlot::kPostMixNorm},
             {WeightSlot::kPostFeedNorm}});
  return ok();
}

Published publish_like_gemma3() {
  using enum ConfigRule;
  return {.types = "gemma3_text|gemma3",
          .architecture = "gemma3",
          .numbers = decoder_numbers(
              {{"final_logit_softcapping", "final_logit_softcapping", ConfigKind::kNumber, "-"}}),
          .rules = {kHeads, kRope, kWindowRope, kWindow, kQueryScale},
          .limits = {{"hidden_activation|hidden_act", R"("gelu_pytorch_tanh")"},
                     {"attn_logit_softcapping", "null"}},
          .tensors = one_more({{WeightSlot::kMixNorm, "input_layernorm.weight"},
                               {WeightSlot::kPostMixNorm, "post_attention_layernorm.weight"},
                               {WeightSlot::kFeedNorm, "pre_feedforward_layernorm.weight"},
                               {WeightSlot::kPostFeedNorm, "post_feedforward_layernorm.weight"},
                               {WeightSlot::kOutputNorm, "norm.weight"},
                               {WeightSlot::kQueryNorm, "self_attn.q_norm.weight"},
                               {WeightSlot::kKeyNorm, "self_attn.k_norm.weight"}})};
}

std::vector<Published> publish_gemma3() {
  Published model = publish_like_gemma3();
  model.limits.push_back({"use_bidirectional_attention", "false"});
  return {std::move(model)};
}

}  // namespace shunt
