// Gemma 2 (arXiv 2408.00118): norms before and after each part, capped scores and logits, and a
// window in every second layer. Norm weights of files have their 1 added.
#include <cmath>

#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status read_gemma_score_scale(ArchitectureKeys& keys, Description& model,
                              std::size_t layers_of_27b) {
  SHUNT_ASSIGN(const float stated, keys.finite("attention.scale", 0));
  for (Layer& layer : model.layers) {
    Attention& attention = *layer.attention;
    attention.scale = stated;
    if (stated == 0 && model.layers.size() == layers_of_27b) {
      const std::int64_t width_of_head = model.width / attention.heads;
      attention.scale = 1 / std::sqrt(static_cast<float>(width_of_head));
    }
  }
  return ok();
}

Status describe_gemma2(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model, Activation::kGelu));
  SHUNT_TRY(read_windows(
      keys, model, [](std::int64_t layer) { return layer % 2 == 0; }, 4096));
  SHUNT_TRY(read_window_base(keys, model));
  SHUNT_ASSIGN(const float score_cap, keys.finite("attn_logit_softcapping", 50));
  SHUNT_ASSIGN(model.logit_softcap, keys.finite("final_logit_softcapping", 30));
  model.embedding_scale = std::sqrt(static_cast<float>(model.width));
  for (Layer& layer : model.layers) layer.attention->softcap = score_cap;
  constexpr std::size_t kLayersOf27B = 46;
  SHUNT_TRY(read_gemma_score_scale(keys, model, kLayersOf27B));
  add_decoder_weights(model);
  model.add({{WeightSlot::kPostMixNorm}, {WeightSlot::kPostFeedNorm}});
  return ok();
}

std::vector<Published> publish_gemma2() {
  using enum ConfigRule;
  return {{.types = "gemma2",
           .architecture = "gemma2",
           .numbers = decoder_numbers(
               {{"attn_logit_softcapping", "attn_logit_softcapping", ConfigKind::kNumber, "-"},
                {"final_logit_softcapping", "final_logit_softcapping", ConfigKind::kNumber, "-"}}),
           .rules = {kHeads, kRope, kWindow, kQueryScale},
           .limits = {{"hidden_activation|hidden_act", R"("gelu_pytorch_tanh")"},
                      {"use_bidirectional_attention", "false"}},
           .tensors = one_more({{WeightSlot::kMixNorm, "input_layernorm.weight"},
                                {WeightSlot::kPostMixNorm, "post_attention_layernorm.weight"},
                                {WeightSlot::kFeedNorm, "pre_feedforward_layernorm.weight"},
                                {WeightSlot::kPostFeedNorm, "post_feedforward_layernorm.weight"},
                                {WeightSlot::kOutputNorm, "norm.weight"}})}};
}

}  // namespace shunt
