// Llama 4's text part: attention within chunks, in each fourth layer to all tokens without
// positions, and experts whose inputs are weighted.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_llama4(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNormal));
  SHUNT_TRY(read_feed_forward(keys, model));
  const std::vector<Layer> dense = model.layers;
  SHUNT_TRY(read_experts(keys, model, {.routing = Routing::kSigmoid, .normalized = false}));
  // Numbers of the published models, which files do not have.
  constexpr std::int64_t kTokens = 8192;
  SHUNT_ASSIGN(const std::int64_t window,
               keys.count_or_zero("attention.sliding_window", kMostOfSize));
  SHUNT_ASSIGN(const std::int64_t chunk,
               keys.count("attention.chunk_size", kMostOfSize, window > 0 ? window : kTokens));
  SHUNT_ASSIGN(const std::int64_t length,
               keys.count("attention.temperature_length", kMostOfSize, kTokens));
  SHUNT_ASSIGN(const float temperature, keys.finite("attention.temperature_scale", 0.1));
  SHUNT_ASSIGN(const std::int64_t step, keys.count("interleave_moe_layer_step", kMostOfSize));
  constexpr std::int64_t kExpertsOfMaverick = 128;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Layer& layer = model.layers[i];
    const auto number = static_cast<std::int64_t>(i) + 1;
    if (number % step != 0) {
      layer = dense[i];
    } else if (layer.experts) {
      layer.experts->shared_size = layer.experts->size;
      layer.experts->weighted_inputs = true;
    }
    Attention& attention = *layer.attention;
    if (number % 4 == 0) {
      attention.rope.reset();
      attention.temperature = {.scale = temperature, .length = length, .offset = 1};
      continue;
    }
    attention.span = AttentionSpan::kChunked;
    attention.window = chunk;
    SHUNT_ASSIGN(const std::int64_t experts, keys.count("expert_count", kMostOfSize));
    attention.unit_heads = experts != kExpertsOfMaverick;
  }
  add_decoder_weights(model);
  add_shared_expert_weights(model);
  model.add({{WeightSlot::kRopeFactors, Need::kOptional}});
  return ok();
}

std::vector<Published> publish_llama4() {
  using enum ConfigRule;
  return {
      {.types = "llama4_text",
       .architecture = "llama4",
       .numbers = decoder_numbers({{"feed_forward_length", "intermediate_size_mlp"},
                                   {"vocab_size", "vocab_size"},
                                   {"expert_count", "num_local_experts"},
                                   {"expert_used_count", "num_experts_per_tok"},
                                   {"expert_feed_forward_length", "intermediate_size"},
                                   {"interleave_moe_layer_step", "interleave_moe_layer_step"}}),
       .rules = {kHeads, kRopeDims, kRope, kLlama4},
       .limits = silu_only({{"no_rope_layer_interval", "4"}}),
       .tensors = {
           {WeightSlot::kGate, "feed_forward.gate_proj.weight"},
           {WeightSlot::kUp, "feed_forward.up_proj.weight"},
           {WeightSlot::kDown, "feed_forward.down_proj.weight"},
           {WeightSlot::kRouter, "feed_forward.router.weight"},
           {WeightSlot::kExpertGate, "feed_forward.experts.gate_up_proj", Rows::kFirstHalf, true},
           {WeightSlot::kExpertUp, "feed_forward.experts.gate_up_proj", Rows::kSecondHalf, true},
           {WeightSlot::kExpertDown, "feed_forward.experts.down_proj", Rows::kAll, true},
           {WeightSlot::kSharedGate, "feed_forward.shared_expert.gate_proj.weight"},
           {WeightSlot::kSharedUp, "feed_forward.shared_expert.up_proj.weight"},
           {WeightSlot::kSharedDown, "feed_forward.shared_expert.down_proj.weight"}}}};
}

}  // namespace shunt
