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
  constexpr std::size_t kLayersOf27B = 62;
  SHUNT_TRY(read_gemma_score_scale(keys, model, kLayersOf27B));
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
