#include "model/published.h"

#include <algorithm>

namespace shunt {

namespace {

using enum WeightSlot;
using T = PublishedTensor;

/// The usual names, in the order of preference of each slot.
const std::vector<PublishedTensor>& usual_tensors() {
  static const std::vector<PublishedTensor> tensors = {
      {kEmbedding, "embed_tokens.weight"},
      {kEmbedding, "embeddings.weight"},
      {kOutputNorm, "norm.weight"},
      {kOutputNorm, "norm_f.weight"},
      {kOutputNorm, "final_layernorm.weight"},
      {kOutputNormBias, "norm.bias"},
      {kOutput, "lm_head.weight"},

      {kMixNorm, "input_layernorm.weight"},
      {kMixNormBias, "input_layernorm.bias"},
      {kFeedNorm, "post_attention_layernorm.weight"},
      {kFeedNormBias, "post_attention_layernorm.bias"},
      {kPostMixNorm, "post_attention_layernorm.weight"},
      {kPostFeedNorm, "post_feedforward_layernorm.weight"},
      {kLayerScale, "layer_scalar"},

      {kQuery, "self_attn.q_proj.weight"},
      {kQueryBias, "self_attn.q_proj.bias"},
      {kKey, "self_attn.k_proj.weight"},
      {kKeyBias, "self_attn.k_proj.bias"},
      {kValue, "self_attn.v_proj.weight"},
      {kValueBias, "self_attn.v_proj.bias"},
      {kQueryKeyValue, "self_attn.qkv_proj.weight"},
      {kQueryNorm, "self_attn.q_norm.weight"},
      {kKeyNorm, "self_attn.k_norm.weight"},
      {kFullQueryNorm, "self_attn.q_norm.weight"},
      {kFullKeyNorm, "self_attn.k_norm.weight"},
      {kSinks, "self_attn.sinks"},
      {kMix, "self_attn.o_proj.weight"},
      {kMixBias, "self_attn.o_proj.bias"},

      {kLatentQuery, "self_attn.q_proj.weight"},
      {kQueryDown, "self_attn.q_a_proj.weight"},
      {kQueryDownNorm, "self_attn.q_a_layernorm.weight"},
      {kQueryUp, "self_attn.q_b_proj.weight"},
      {kLatentDown, "self_attn.kv_a_proj_with_mqa.weight"},
      {kLatentNorm, "self_attn.kv_a_layernorm.weight"},
      T{.slot = kKeyUp, .name = "self_attn.kv_b_proj.weight", .order = Order::kLatentKeys},
      T{.slot = kValueUp, .name = "self_attn.kv_b_proj.weight", .order = Order::kLatentValues},
      {kLatentMix, "self_attn.o_proj.weight"},

      T{.slot = kDeltaInput,
        .name = "linear_attn.in_proj_qkvz.weight",
        .order = Order::kDeltaInput},
      T{.slot = kDeltaGate, .name = "linear_attn.in_proj_qkvz.weight", .order = Order::kDeltaGate},
      {kDeltaConvolution, "linear_attn.conv1d.weight"},
      T{.slot = kDeltaDecay, .name = "linear_attn.A_log", .element = Element::kNegativeExp},
      {kDeltaStepBias, "linear_attn.dt_bias"},
      {kDeltaStepAndShare, "linear_attn.in_proj_ba.weight"},
      {kDeltaStep, "linear_attn.in_proj_a.weight"},
      {kDeltaShare, "linear_attn.in_proj_b.weight"},
      {kDeltaNorm, "linear_attn.norm.weight"},
      {kDeltaOutput, "linear_attn.out_proj.weight"},

      {kSpaceInput, "mamba.in_proj.weight"},
      {kSpaceConvolution, "mamba.conv1d.weight"},
      {kSpaceConvolutionBias, "mamba.conv1d.bias"},
      T{.slot = kSpaceDecay, .name = "mamba.A_log", .element = Element::kNegativeExp},
      {kSpaceSkip, "mamba.D"},
      {kSpaceStepBias, "mamba.dt_bias"},
      {kSpaceNorm, "mamba.norm.weight"},
      {kSpaceOutput, "mamba.out_proj.weight"},

      {kConvolution, "conv.conv.weight"},
      {kConvolutionInput, "conv.in_proj.weight"},
      {kConvolutionOutput, "conv.out_proj.weight"},

      {kGate, "mlp.gate_proj.weight"},
      {kGateBias, "mlp.gate_proj.bias"},
      {kUp, "mlp.up_proj.weight"},
      {kUp, "mlp.gate_up_proj.weight"},
      {kUpBias, "mlp.up_proj.bias"},
      {kDown, "mlp.down_proj.weight"},
      {kDownBias, "mlp.down_proj.bias"},

      {kRouter, "mlp.gate.weight"},
      {kRouter, "mlp.router.weight"},
      {kRouter, "block_sparse_moe.gate.weight"},
      {kRouterBias, "mlp.router.bias"},
      {kSelectionBias, "mlp.gate.e_score_correction_bias"},
      {kSelectionBias, "block_sparse_moe.e_score_correction_bias"},
      {kExpertGate, "mlp.experts.{}.gate_proj.weight"},
      {kExpertGate, "block_sparse_moe.experts.{}.w1.weight"},
      {kExpertGate, "mlp.experts.gate_up_proj", Rows::kFirstHalf},
      {kExpertUp, "mlp.experts.{}.up_proj.weight"},
      {kExpertUp, "block_sparse_moe.experts.{}.w3.weight"},
      {kExpertUp, "mlp.experts.gate_up_proj", Rows::kSecondHalf},
      {kExpertDown, "mlp.experts.{}.down_proj.weight"},
      {kExpertDown, "block_sparse_moe.experts.{}.w2.weight"},
      {kExpertDown, "mlp.experts.down_proj"},
      {kExpertGateUp, "experts.gate_up_proj"},
      {kSharedRouter, "mlp.shared_expert_gate.weight"},
      {kSharedGate, "mlp.shared_experts.gate_proj.weight"},
      {kSharedGate, "mlp.shared_expert.gate_proj.weight"},
      {kSharedUp, "mlp.shared_experts.up_proj.weight"},
      {kSharedUp, "mlp.shared_expert.up_proj.weight"},
      {kSharedDown, "mlp.shared_experts.down_proj.weight"},
      {kSharedDown, "mlp.shared_expert.down_proj.weight"},

      {kLayerEmbedding, "embed_tokens_per_layer.weight"},
      {kLayerModelProjection, "per_layer_model_projection.weight"},
      {kLayerProjectionNorm, "per_layer_projection_norm.weight"},
      {kLayerInputGate, "per_layer_input_gate.weight"},
      {kLayerInputProjection, "per_layer_projection.weight"},
      {kPostLayerInputNorm, "post_per_layer_input_norm.weight"},

      {kHead, "classifier.dense.weight"},
      {kHead, "head.dense.weight"},
      {kHead, "pooler.dense.weight"},
      {kHeadBias, "classifier.dense.bias"},
      {kHeadBias, "head.dense.bias"},
      {kHeadBias, "pooler.dense.bias"},
      {kHeadNorm, "head.norm.weight"},
      {kHeadOutput, "classifier.weight"},
      {kHeadOutput, "classifier.out_proj.weight"},
      {kHeadOutput, "score.weight"},
      {kHeadOutputBias, "classifier.bias"},
      {kHeadOutputBias, "classifier.out_proj.bias"},
  };
  return tensors;
}

template <class Row>
std::vector<Row> joined(std::vector<Row> rows, std::initializer_list<Row> more) {
  rows.insert(rows.end(), more);
  return rows;
}

}  // namespace

bool is_encoder(const Published& model) {
  return std::ranges::count(model.rules, ConfigRule::kEncoder) > 0;
}

std::vector<PublishedTensor> published_tensors(const Published& model, WeightSlot slot) {
  std::vector<PublishedTensor> found;
  const auto add_from = [&](const std::vector<PublishedTensor>& rows) {
    for (const PublishedTensor& row : rows) {
      if (row.slot == slot) found.push_back(row);
    }
  };
  add_from(model.tensors);
  if (found.empty()) add_from(usual_tensors());
  return found;
}

std::vector<ConfigNumber> decoder_numbers(std::initializer_list<ConfigNumber> more) {
  return joined<ConfigNumber>(
      {{"block_count", "num_hidden_layers"},
       {"context_length", "max_position_embeddings"},
       {"embedding_length", "hidden_size"},
       {"feed_forward_length", "intermediate_size", ConfigKind::kCount, "-"},
       {"attention.head_count", "num_attention_heads"},
       {"attention.head_count_kv", "num_key_value_heads|num_attention_heads"},
       {"attention.layer_norm_rms_epsilon", "rms_norm_eps", ConfigKind::kNumber, "1e-6"}},
      more);
}

std::vector<ConfigNumber> routed_numbers(std::initializer_list<ConfigNumber> more) {
  return joined(decoder_numbers({{"expert_count", "num_experts|num_local_experts|n_routed_experts"},
                                 {"expert_used_count", "num_experts_per_tok|top_k_experts"},
                                 {"expert_feed_forward_length", "moe_intermediate_size",
                                  ConfigKind::kCount, "-"}}),
                more);
}

std::vector<ConfigNumber> encoder_numbers(std::string_view epsilon,
                                          std::initializer_list<ConfigNumber> more) {
  return joined<ConfigNumber>(
      {{"block_count", "num_hidden_layers|n_layer"},
       {"context_length", "max_trained_positions|max_position_embeddings|n_positions"},
       {"embedding_length", "hidden_size|n_embd"},
       {"feed_forward_length", "intermediate_size|n_inner"},
       {"attention.head_count", "num_attention_heads|n_head"},
       {epsilon, "layer_norm_eps|layer_norm_epsilon|norm_eps", ConfigKind::kNumber}},
      more);
}

std::vector<ConfigLimit> silu_only(std::initializer_list<ConfigLimit> more) {
  return joined<ConfigLimit>({{"hidden_act|hidden_activation", R"("silu"|"swish")"}}, more);
}

std::vector<PublishedTensor> paired(std::initializer_list<PublishedTensor> more) {
  constexpr Order kPairs = Order::kRopePairs;
  return joined<PublishedTensor>(
      {{.slot = kQuery, .name = "self_attn.q_proj.weight", .order = kPairs},
       {.slot = kKey, .name = "self_attn.k_proj.weight", .order = kPairs},
       {.slot = kQueryBias, .name = "self_attn.q_proj.bias", .order = kPairs},
       {.slot = kKeyBias, .name = "self_attn.k_proj.bias", .order = kPairs}},
      more);
}

std::vector<PublishedTensor> one_more(std::initializer_list<PublishedTensor> norms) {
  std::vector<PublishedTensor> rows = norms;
  for (PublishedTensor& row : rows) row.element = Element::kAddOne;
  return rows;
}

}  // namespace shunt
