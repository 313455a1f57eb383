// An architecture that no model has: layer norms, attention beside a fused feed-forward part, and
// short convolutions in every second layer. tools/prove-layout adds it.
#include "model/architectures/describe.h"

namespace shunt {

Status describe_sample(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model, NormKind::kLayer));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model, Activation::kGelu));
  SHUNT_ASSIGN(const std::int64_t taps, keys.count("shortconv.l_cache", kMostOfSize));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Layer& layer = model.layers[i];
    layer.feed_forward->fused = true;
    if (i % 2 == 0) continue;
    layer.attention.reset();
    layer.short_convolution = {.taps = taps};
  }
  model.parallel = true;
  add_decoder_weights(model);
  model.remove({WeightSlot::kFeedNorm, WeightSlot::kGate});
  model.add({{WeightSlot::kConvolution},
             {WeightSlot::kConvolutionInput},
             {WeightSlot::kConvolutionOutput}});
  return ok();
}

}  // namespace shunt
