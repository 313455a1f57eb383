// Qwen3-Next: gated delta nets, and gated attention in each fourth layer.
#include "model/architectures/describe.h"
#include "model/published.h"
#include "shunt/message.h"

namespace shunt {

Status read_delta_nets(ArchitectureKeys& keys, Description& model) {
  const auto count = [&](const char* key) { return keys.count(key, kMostOfSize); };
  DeltaNet net;
  SHUNT_ASSIGN(net.taps, count("ssm.conv_kernel"));
  SHUNT_ASSIGN(net.key_size, count("ssm.state_size"));
  SHUNT_ASSIGN(net.key_heads, count("ssm.group_count"));
  SHUNT_ASSIGN(net.value_heads, count("ssm.time_step_rank"));
  SHUNT_ASSIGN(const std::int64_t inner, count("ssm.inner_size"));
  if (inner % net.value_heads != 0 || net.value_heads % net.key_heads != 0) {
    return fail(ErrorCode::kBadFile,
                "{}: {} of {} can't be shared evenly by {} heads of values, or these by {} of keys",
                keys.file().path(), keys.name("ssm.inner_size"), inner, net.value_heads,
                net.key_heads);
  }
  net.value_size = inner / net.value_heads;
  SHUNT_ASSIGN(const std::int64_t interval, keys.count("full_attention_interval", kMostOfSize, 4));
  SHUNT_ASSIGN(const auto recurrent,
               keys.flag_by_layer("attention.recurrent_layers", model.layers.size()));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Layer& layer = model.layers[i];
    const bool attends = (static_cast<std::int64_t>(i) + 1) % interval == 0;
    if (recurrent.empty() ? attends : !recurrent[i]) {
      if (layer.attention) layer.attention->gated = true;
      continue;
    }
    layer.attention.reset();
    layer.delta_net = net;
  }
  model.replace({WeightSlot::kFeedNorm, Need::kNeeded, "blk.{}.post_attention_norm.weight"});
  model.add({{WeightSlot::kQueryNorm},
             {WeightSlot::kKeyNorm},
             {WeightSlot::kDeltaInput},
             {WeightSlot::kDeltaGate},
             {WeightSlot::kDeltaConvolution},
             {WeightSlot::kDeltaDecay},
             {WeightSlot::kDeltaStepBias},
             {WeightSlot::kDeltaNorm},
             {WeightSlot::kDeltaOutput}});
  return ok();
}

namespace {

/// The first files have the inputs of a delta net in one tensor, as config.json's model has them.
bool has_fused_inputs(const ArchitectureKeys& keys, const Description& model) {
  for (std::int64_t layer = 0; layer < std::ssize(model.layers); ++layer) {
    if (keys.file().find_tensor(name_of({WeightSlot::kDeltaFusedInput}, layer)) != nullptr)
      return true;
  }
  return false;
}

}  // namespace

Status describe_qwen3next(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox, AttentionLayers::kSome));
  SHUNT_TRY(read_feed_forward(keys, model));
  SHUNT_TRY(read_experts(keys, model, {}));
  SHUNT_TRY(read_shared_expert(keys, model));
  add_decoder_weights(model);
  SHUNT_TRY(read_delta_nets(keys, model));
  model.add({{WeightSlot::kSharedRouter}, {WeightSlot::kDeltaStepAndShare}});
  if (has_fused_inputs(keys, model)) {
    model.remove({WeightSlot::kDeltaInput, WeightSlot::kDeltaGate});
    model.add({{WeightSlot::kDeltaFusedInput}});
  }
  return skip_prediction_layers(keys, model);
}

std::vector<Published> publish_qwen3next() {
  using enum ConfigRule;
  return {
      {.types = "qwen3_next",
       .architecture = "qwen3next",
       .numbers = routed_numbers(
           {{"expert_shared_feed_forward_length", "shared_expert_intermediate_size"}}),
       .rules = {kHeads, kRopeDims, kRope, kDeltaNet},
       .limits = silu_only(
           {{"norm_topk_prob", "true"}, {"decoder_sparse_step", "1"}, {"mlp_only_layers", "[]"}}),
       .tensors = one_more({{WeightSlot::kMixNorm, "input_layernorm.weight"},
                            {WeightSlot::kFeedNorm, "post_attention_layernorm.weight"},
                            {WeightSlot::kOutputNorm, "norm.weight"},
                            {WeightSlot::kQueryNorm, "self_attn.q_norm.weight"},
                            {WeightSlot::kKeyNorm, "self_attn.k_norm.weight"}})}};
}

}  // namespace shunt
