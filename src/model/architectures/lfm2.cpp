// LFM2 (arXiv 2511.23404): short convolutions, and attention in the layers that have heads of keys.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_lfm2(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox, AttentionLayers::kSome));
  SHUNT_TRY(read_feed_forward(keys, model));
  SHUNT_ASSIGN(const std::int64_t taps, keys.count("shortconv.l_cache", kMostOfSize));
  for (Layer& layer : model.layers) {
    if (!layer.attention) layer.short_convolution = {.taps = taps};
  }
  add_decoder_weights(model);
  model.replace({WeightSlot::kOutputNorm, Need::kNeeded, "token_embd_norm.weight"});
  model.add({{WeightSlot::kQueryNorm},
             {WeightSlot::kKeyNorm},
             {WeightSlot::kConvolution},
             {WeightSlot::kConvolutionInput},
             {WeightSlot::kConvolutionOutput}});
  return ok();
}

std::vector<Published> publish_lfm2() {
  using enum ConfigRule;
  using enum ConfigKind;
  std::vector<ConfigNumber> numbers = {
      {"block_count", "num_hidden_layers"},
      {"context_length", "max_position_embeddings"},
      {"embedding_length", "hidden_size"},
      {"attention.head_count", "num_attention_heads"},
      {"attention.layer_norm_rms_epsilon", "norm_eps|block_norm_eps", kNumber, "1e-5"},
      {"shortconv.l_cache", "conv_L_cache"}};
  const std::vector<PublishedTensor> tensors = {
      {WeightSlot::kOutputNorm, "embedding_norm.weight"},
      {WeightSlot::kMixNorm, "operator_norm.weight"},
      {WeightSlot::kFeedNorm, "ffn_norm.weight"},
      {WeightSlot::kMix, "self_attn.out_proj.weight"},
      {WeightSlot::kQueryNorm, "self_attn.q_layernorm.weight"},
      {WeightSlot::kKeyNorm, "self_attn.k_layernorm.weight"},
      {WeightSlot::kGate, "feed_forward.w1.weight"},
      {WeightSlot::kUp, "feed_forward.w3.weight"},
      {WeightSlot::kDown, "feed_forward.w2.weight"},
      {WeightSlot::kRouter, "feed_forward.gate.weight"},
      {WeightSlot::kSelectionBias, "feed_forward.expert_bias"},
      {WeightSlot::kExpertGate, "feed_forward.experts.{}.w1.weight"},
      {WeightSlot::kExpertUp, "feed_forward.experts.{}.w3.weight"},
      {WeightSlot::kExpertDown, "feed_forward.experts.{}.w2.weight"}};
  Published dense = {.types = "lfm2", .architecture = "lfm2", .numbers = numbers};
  dense.rules = {kHeads, kRope, kConvolutions, kLfmFeedForward};
  dense.limits = {{"conv_bias", "false"}};
  dense.tensors = tensors;
  Published routed = {
      .types = "lfm2_moe", .architecture = "lfm2moe", .numbers = std::move(numbers)};
  routed.numbers.insert(routed.numbers.end(),
                        {{"feed_forward_length", "intermediate_size"},
                         {"expert_count", "num_experts"},
                         {"expert_used_count", "num_experts_per_tok"},
                         {"expert_feed_forward_length", "moe_intermediate_size"}});
  routed.rules = {kHeads, kRope, kConvolutions, kLeadingDense, kSigmoidRouter};
  routed.limits = {
      {"conv_bias", "false"}, {"norm_topk_prob", "true"}, {"routed_scaling_factor", "1.0"}};
  routed.tensors = tensors;
  return {std::move(dense), std::move(routed)};
}

}  // namespace shunt
