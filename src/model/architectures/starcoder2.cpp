// StarCoder 2 (arXiv 2402.19173): layer norms, optional biases, no gate.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_starcoder2(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model, NormKind::kLayer));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model, Activation::kGelu));
  constexpr std::int64_t kWindow = 4096;  // of all published models; files lack it
  SHUNT_TRY(read_windows(
      keys, model, [](std::int64_t) { return true; }, model.context > kWindow ? kWindow : 0));
  add_decoder_weights(model);
  add_query_biases(model, Need::kOptional);
  model.remove({WeightSlot::kGate});
  model.add({{WeightSlot::kOutputNormBias},
             {WeightSlot::kMixNormBias},
             {WeightSlot::kFeedNormBias},
             {WeightSlot::kMixBias, Need::kOptional},
             {WeightSlot::kUpBias, Need::kOptional},
             {WeightSlot::kDownBias, Need::kOptional}});
  return ok();
}

std::vector<Published> publish_starcoder2() {
  using enum ConfigRule;
  return {{.types = "starcoder2",
           .architecture = "starcoder2",
           .numbers = {{"block_count", "num_hidden_layers"},
                       {"context_length", "max_position_embeddings"},
                       {"embedding_length", "hidden_size"},
                       {"feed_forward_length", "intermediate_size"},
                       {"attention.head_count", "num_attention_heads"},
                       {"attention.head_count_kv", "num_key_value_heads"},
                       {"attention.layer_norm_epsilon", "norm_epsilon|layer_norm_epsilon",
                        ConfigKind::kNumber}},
           .rules = {kHeads, kRope, kWindow},
           .limits = {{"hidden_act", R"("gelu_pytorch_tanh")"}},
           .tensors = {{WeightSlot::kUp, "mlp.c_fc.weight"},
                       {WeightSlot::kUpBias, "mlp.c_fc.bias"},
                       {WeightSlot::kDown, "mlp.c_proj.weight"},
                       {WeightSlot::kDownBias, "mlp.c_proj.bias"}}}};
}

}  // namespace shunt
