// EXAONE 4 (arXiv 2507.11407): norms after attention and feed-forward part instead of before, and
// norms of each head. Where there are windows, layers without one do not depend on positions.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_exaone4(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model));
  SHUNT_TRY(skip_prediction_layers(keys, model));  // the pattern of windows is without them
  SHUNT_TRY(read_windows(keys, model, [](std::int64_t layer) { return layer % 4 != 3; }));
  SHUNT_TRY(read_window_base(keys, model));
  SHUNT_ASSIGN(const std::int64_t window,
               keys.count_or_zero("attention.sliding_window", kMostOfSize));
  for (Layer& layer : model.layers) {
    Attention& attention = *layer.attention;
    if (window > 0 && attention.span == AttentionSpan::kCausal) attention.rope.reset();
  }
  add_decoder_weights(model);
  model.remove({WeightSlot::kMixNorm, WeightSlot::kFeedNorm});
  model.add({{WeightSlot::kPostMixNorm},
             {WeightSlot::kPostFeedNorm},
             {WeightSlot::kQueryNorm},
             {WeightSlot::kKeyNorm},
             {WeightSlot::kRopeFactors, Need::kOptional}});
  return ok();
}

std::vector<Published> publish_exaone4() {
  using enum ConfigRule;
  return {{.types = "exaone4",
           .architecture = "exaone4",
           .numbers = decoder_numbers(),
           .rules = {kHeads, kRope, kWindowPattern},
           .limits = silu_only()}};
}

}  // namespace shunt
