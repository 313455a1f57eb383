// OLMo 2 (arXiv 2501.00656) and OLMo 3: norms after attention and feed-forward part instead of
// before, and norms of all queries and all keys of a token. OLMo 3 has windows, whose layers turn
// without scaling.
#include "model/architectures/describe.h"
#include "model/published.h"
#include "model/rope_scaling.h"

namespace shunt {

namespace {

/// Files of OLMo 3 of 2025 have the whole factor of YaRN under the key of LongRoPE.
Status read_old_factor(ArchitectureKeys& keys, Description& model) {
  SHUNT_ASSIGN(const bool is_stated, states_yarn_factor(keys));
  SHUNT_ASSIGN(const float old, keys.finite("rope.scaling.attn_factor", 0));
  if (is_stated || old == 0) return ok();
  for (Layer& layer : model.layers) {
    RopeParams& rope = *layer.attention->rope;
    rope.attn_factor /= static_cast<float>(yarn_growth(rope));
  }
  return ok();
}

}  // namespace

Status describe_olmo2(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model));
  SHUNT_TRY(read_old_factor(keys, model));
  const float base = model.layers[0].attention->rope->freq_base;
  SHUNT_TRY(read_windows(keys, model, [](std::int64_t layer) { return layer % 4 != 3; }));
  SHUNT_TRY(read_window_rope(keys, model, base));
  add_decoder_weights(model);
  model.remove({WeightSlot::kMixNorm, WeightSlot::kFeedNorm});
  model.add({{WeightSlot::kPostMixNorm},
             {WeightSlot::kPostFeedNorm},
             {WeightSlot::kFullQueryNorm},
             {WeightSlot::kFullKeyNorm}});
  return ok();
}

std::vector<Published> publish_olmo2() {
  using enum ConfigRule;
  return {{.types = "olmo2",
           .architecture = "olmo2",
           .numbers = decoder_numbers(),
           .rules = {kHeads, kRope},
           .limits = silu_only()},
          {.types = "olmo3",
           .architecture = "olmo2",
           .numbers = decoder_numbers(),
           .rules = {kHeads, kRope, kWindowRope, kWindowPattern},
           .limits = silu_only()}};
}

}  // namespace shunt
