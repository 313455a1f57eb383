#include "model/weight_slots.h"

#include <array>
#include <iterator>

namespace shunt {

namespace {

using M = Description;
using L = Layer;
using enum WeightSlot;
using R = WeightRole;

bool every(const L&) {
  return true;
}
bool attention(const L& l) {
  return l.attention.has_value();
}
/// Layers with keys and values of their own.
bool own_keys(const L& l) {
  return l.attention && l.attention->keys_of < 0;
}
bool latent(const L& l) {
  return l.latent_attention.has_value();
}
bool plain_query(const L& l) {
  return l.latent_attention && l.latent_attention->query_rank == 0;
}
bool short_query(const L& l) {
  return l.latent_attention && l.latent_attention->query_rank > 0;
}
bool delta(const L& l) {
  return l.delta_net.has_value();
}
bool space(const L& l) {
  return l.state_space.has_value();
}
bool short_conv(const L& l) {
  return l.short_convolution.has_value();
}
bool dense(const L& l) {
  return l.feed_forward.has_value();
}
bool gated(const L& l) {
  return l.feed_forward && !l.feed_forward->fused;
}
bool routed(const L& l) {
  return l.experts.has_value();
}
bool shared(const L& l) {
  return l.experts && l.experts->shared_size > 0;
}

std::int64_t head_rows(const M& m) {
  return m.head ? static_cast<std::int64_t>(m.head->labels.size()) : 0;
}

constexpr Sizes vector(std::int64_t size) {
  return {size, 1, 1, 1};
}
constexpr Sizes matrix(std::int64_t inputs, std::int64_t outputs) {
  return {inputs, outputs, 1, 1};
}
constexpr Sizes stack(std::int64_t inputs, std::int64_t outputs, std::int64_t count) {
  return {inputs, outputs, count, 1};
}

// Sizes of slots: m is the model, l the layer.
#define SIZES(expression) \
  [](const M& m [[maybe_unused]], const L& l [[maybe_unused]]) -> Sizes { return expression; }

constexpr Role kStacked = Role::kExpertWeight;

/// In the order of WeightSlot.
const std::array<SlotFacts, kSlotCount> kSlots = {{
    {kEmbedding, "token_embd.weight", nullptr, SIZES(matrix(m.width, m.vocabulary)), R::kEmbedding},
    {kEmbeddingNorm, "token_embd_norm.weight", nullptr, SIZES(vector(m.width))},
    {kEmbeddingNormBias, "token_embd_norm.bias", nullptr, SIZES(vector(m.width)), R::kOther,
     Role::kWeight, Start::kZeros},
    {kPositionEmbedding, "position_embd.weight", nullptr, SIZES(matrix(m.width, m.context)),
     R::kOther, Role::kWeight, Start::kNoise},
    {kTokenTypes, "token_types.weight", nullptr, SIZES(matrix(m.width, m.token_types)), R::kOther,
     Role::kWeight, Start::kNoise},
    {kOutputNorm, "output_norm.weight", nullptr, SIZES(vector(m.width))},
    {kOutputNormBias, "output_norm.bias", nullptr, SIZES(vector(m.width)), R::kOther, Role::kWeight,
     Start::kZeros},
    {kOutput, "output.weight", nullptr, SIZES(matrix(m.width, m.vocabulary)), R::kOutput},
    {kDenseUp, "dense_2.weight", nullptr, SIZES(matrix(m.width, m.dense_size)), R::kOther,
     Role::kWeight, Start::kNoise},
    {kDenseDown, "dense_3.weight", nullptr, SIZES(matrix(m.dense_size, m.dense_outputs)), R::kOther,
     Role::kWeight, Start::kNoise},
    {kRopeFactors, "rope_freqs.weight", nullptr, SIZES(vector(m.rope_pairs))},
    {kLongRopeFactors, "rope_factors_long.weight", nullptr, SIZES(vector(m.rope_pairs))},
    {kShortRopeFactors, "rope_factors_short.weight", nullptr, SIZES(vector(m.rope_pairs))},

    {kMixNorm, "blk.{}.attn_norm.weight", every, SIZES(vector(m.width))},
    {kMixNormBias, "blk.{}.attn_norm.bias", every, SIZES(vector(m.width)), R::kOther, Role::kWeight,
     Start::kZeros},
    {kPostMixNorm, "blk.{}.post_attention_norm.weight", every, SIZES(vector(m.width))},
    {kFeedNorm, "blk.{}.ffn_norm.weight", every, SIZES(vector(m.width))},
    {kFeedNormBias, "blk.{}.ffn_norm.bias", every, SIZES(vector(m.width)), R::kOther, Role::kWeight,
     Start::kZeros},
    {kPostFeedNorm, "blk.{}.post_ffw_norm.weight", every, SIZES(vector(m.width))},
    {kMixedNorm, "blk.{}.attn_output_norm.weight", every, SIZES(vector(m.width))},
    {kMixedNormBias, "blk.{}.attn_output_norm.bias", every, SIZES(vector(m.width)), R::kOther,
     Role::kWeight, Start::kZeros},
    {kFedNorm, "blk.{}.layer_output_norm.weight", every, SIZES(vector(m.width))},
    {kFedNormBias, "blk.{}.layer_output_norm.bias", every, SIZES(vector(m.width)), R::kOther,
     Role::kWeight, Start::kZeros},
    {kLayerScale, "blk.{}.layer_output_scale.weight", every, SIZES(vector(1))},

    {kQuery, "blk.{}.attn_q.weight", attention, SIZES(matrix(m.width, l.attention->query_rows())),
     R::kQuery},
    {kQueryBias, "blk.{}.attn_q.bias", attention, SIZES(vector(l.attention->query_rows())),
     R::kOther, Role::kWeight, Start::kZeros},
    {kKey, "blk.{}.attn_k.weight", own_keys, SIZES(matrix(m.width, l.attention->key_width())),
     R::kKey},
    {kKeyBias, "blk.{}.attn_k.bias", own_keys, SIZES(vector(l.attention->key_width())), R::kOther,
     Role::kWeight, Start::kZeros},
    {kValue, "blk.{}.attn_v.weight", own_keys, SIZES(matrix(m.width, l.attention->value_width())),
     R::kValue},
    {kValueBias, "blk.{}.attn_v.bias", own_keys, SIZES(vector(l.attention->value_width())),
     R::kOther, Role::kWeight, Start::kZeros},
    {kQueryKeyValue, "blk.{}.attn_qkv.weight", own_keys,
     SIZES(matrix(m.width, l.attention->query_width() + l.attention->key_width() +
                               l.attention->value_width())),
     R::kValue},
    {kQueryKeyValueBias, "blk.{}.attn_qkv.bias", own_keys,
     SIZES(vector(l.attention->query_width() + l.attention->key_width() +
                  l.attention->value_width())),
     R::kOther, Role::kWeight, Start::kZeros},
    {kQueryNorm, "blk.{}.attn_q_norm.weight", attention, SIZES(vector(l.attention->key_size))},
    {kKeyNorm, "blk.{}.attn_k_norm.weight", own_keys, SIZES(vector(l.attention->key_size))},
    {kFullQueryNorm, "blk.{}.attn_q_norm.weight", attention,
     SIZES(vector(l.attention->query_width()))},
    {kFullKeyNorm, "blk.{}.attn_k_norm.weight", own_keys, SIZES(vector(l.attention->key_width()))},
    {kSinks, "blk.{}.attn_sinks.weight", attention, SIZES(vector(l.attention->heads)), R::kOther,
     Role::kWeight, Start::kZeros},
    {kMix, "blk.{}.attn_output.weight", attention,
     SIZES(matrix(l.attention->mixed_width(), m.width)), R::kMix},
    {kMixBias, "blk.{}.attn_output.bias", attention, SIZES(vector(m.width)), R::kOther,
     Role::kWeight, Start::kZeros},

    {kLatentQuery, "blk.{}.attn_q.weight", plain_query,
     SIZES(matrix(m.width, l.latent_attention->heads* l.latent_attention->key_size)), R::kQuery},
    {kQueryDown, "blk.{}.attn_q_a.weight", short_query,
     SIZES(matrix(m.width, l.latent_attention->query_rank)), R::kQuery},
    {kQueryDownNorm, "blk.{}.attn_q_a_norm.weight", short_query,
     SIZES(vector(l.latent_attention->query_rank))},
    {kQueryUp, "blk.{}.attn_q_b.weight", short_query,
     SIZES(matrix(l.latent_attention->query_rank,
                  l.latent_attention->heads* l.latent_attention->key_size)),
     R::kQuery},
    {kLatentDown, "blk.{}.attn_kv_a_mqa.weight", latent,
     SIZES(matrix(m.width, l.latent_attention->row_size())), R::kKey},
    {kLatentNorm, "blk.{}.attn_kv_a_norm.weight", latent, SIZES(vector(l.latent_attention->rank))},
    {kKeyUp, "blk.{}.attn_k_b.weight", latent,
     SIZES(stack(l.latent_attention->plain_size(), l.latent_attention->rank,
                 l.latent_attention->heads)),
     R::kKey},
    {kValueUp, "blk.{}.attn_v_b.weight", latent,
     SIZES(stack(l.latent_attention->rank, l.latent_attention->value_size,
                 l.latent_attention->heads)),
     R::kValue},
    {kLatentMix, "blk.{}.attn_output.weight", latent,
     SIZES(matrix(l.latent_attention->heads* l.latent_attention->value_size, m.width)), R::kMix},

    {kDeltaInput, "blk.{}.attn_qkv.weight", delta,
     SIZES(matrix(m.width, l.delta_net->conv_width())), R::kQuery},
    {kDeltaGate, "blk.{}.attn_gate.weight", delta,
     SIZES(matrix(m.width, l.delta_net->value_width())), R::kGate},
    {kDeltaFusedInput, "blk.{}.ssm_in.weight", delta,
     SIZES(matrix(m.width, l.delta_net->conv_width() + l.delta_net->value_width())), R::kQuery},
    {kDeltaConvolution, "blk.{}.ssm_conv1d.weight", delta,
     SIZES(matrix(l.delta_net->taps, l.delta_net->conv_width())), R::kOther, Role::kWeight,
     Start::kNoise},
    {kDeltaDecay, "blk.{}.ssm_a", delta, SIZES(vector(l.delta_net->value_heads)), R::kOther,
     Role::kWeight, Start::kMinusOnes},
    {kDeltaStepBias, "blk.{}.ssm_dt.bias", delta, SIZES(vector(l.delta_net->value_heads)),
     R::kOther, Role::kWeight, Start::kZeros},
    {kDeltaStepAndShare, "blk.{}.ssm_ba.weight", delta,
     SIZES(matrix(m.width, 2 * l.delta_net->value_heads)), R::kOther, Role::kWeight, Start::kNoise},
    {kDeltaStep, "blk.{}.ssm_alpha.weight", delta, SIZES(matrix(m.width, l.delta_net->value_heads)),
     R::kOther, Role::kWeight, Start::kNoise},
    {kDeltaShare, "blk.{}.ssm_beta.weight", delta, SIZES(matrix(m.width, l.delta_net->value_heads)),
     R::kOther, Role::kWeight, Start::kNoise},
    {kDeltaNorm, "blk.{}.ssm_norm.weight", delta, SIZES(vector(l.delta_net->value_size))},
    {kDeltaOutput, "blk.{}.ssm_out.weight", delta,
     SIZES(matrix(l.delta_net->value_width(), m.width)), R::kMix},

    {kSpaceInput, "blk.{}.ssm_in.weight", space,
     SIZES(matrix(m.width, l.state_space->input_rows())), R::kQuery},
    {kSpaceConvolution, "blk.{}.ssm_conv1d.weight", space,
     SIZES(matrix(l.state_space->taps, l.state_space->conv_width())), R::kOther, Role::kWeight,
     Start::kNoise},
    {kSpaceConvolutionBias, "blk.{}.ssm_conv1d.bias", space,
     SIZES(vector(l.state_space->conv_width())), R::kOther, Role::kWeight, Start::kZeros},
    {kSpaceDecay, "blk.{}.ssm_a", space, SIZES(matrix(1, l.state_space->heads)), R::kOther,
     Role::kWeight, Start::kMinusOnes},
    {kSpaceSkip, "blk.{}.ssm_d", space, SIZES(matrix(1, l.state_space->heads))},
    {kSpaceStepBias, "blk.{}.ssm_dt.bias", space, SIZES(vector(l.state_space->heads)), R::kOther,
     Role::kWeight, Start::kZeros},
    {kSpaceNorm, "blk.{}.ssm_norm.weight", space,
     SIZES(matrix(l.state_space->inner() / l.state_space->groups, l.state_space->groups))},
    {kSpaceOutput, "blk.{}.ssm_out.weight", space, SIZES(matrix(l.state_space->inner(), m.width)),
     R::kMix},

    {kConvolution, "blk.{}.shortconv.conv.weight", short_conv,
     SIZES(matrix(l.short_convolution->taps, m.width)), R::kOther, Role::kWeight, Start::kNoise},
    {kConvolutionInput, "blk.{}.shortconv.in_proj.weight", short_conv,
     SIZES(matrix(m.width, 3 * m.width)), R::kQuery},
    {kConvolutionOutput, "blk.{}.shortconv.out_proj.weight", short_conv,
     SIZES(matrix(m.width, m.width)), R::kMix},

    {kGate, "blk.{}.ffn_gate.weight", gated, SIZES(matrix(m.width, l.feed_forward->size)),
     R::kGate},
    {kGateBias, "blk.{}.ffn_gate.bias", gated, SIZES(vector(l.feed_forward->size)), R::kOther,
     Role::kWeight, Start::kZeros},
    {kUp, "blk.{}.ffn_up.weight", dense,
     SIZES(matrix(m.width, (l.feed_forward->fused ? 2 : 1) * l.feed_forward->size)), R::kUp},
    {kUpBias, "blk.{}.ffn_up.bias", dense, SIZES(vector(l.feed_forward->size)), R::kOther,
     Role::kWeight, Start::kZeros},
    {kDown, "blk.{}.ffn_down.weight", dense, SIZES(matrix(l.feed_forward->size, m.width)),
     R::kDown},
    {kDownBias, "blk.{}.ffn_down.bias", dense, SIZES(vector(m.width)), R::kOther, Role::kWeight,
     Start::kZeros},

    {kRouter, "blk.{}.ffn_gate_inp.weight", routed, SIZES(matrix(m.width, l.experts->count)),
     R::kOther, Role::kWeight, Start::kNoise},
    {kRouterBias, "blk.{}.ffn_gate_inp.bias", routed, SIZES(vector(l.experts->count)), R::kOther,
     Role::kWeight, Start::kZeros},
    {kSelectionBias, "blk.{}.exp_probs_b.bias", routed, SIZES(vector(l.experts->count)), R::kOther,
     Role::kWeight, Start::kZeros},
    {kExpertGate, "blk.{}.ffn_gate_exps.weight", routed,
     SIZES(stack(m.width, l.experts->size, l.experts->count)), R::kGate, kStacked},
    {kExpertGateBias, "blk.{}.ffn_gate_exps.bias", routed,
     SIZES(matrix(l.experts->size, l.experts->count)), R::kOther, Role::kWeight, Start::kZeros},
    {kExpertUp, "blk.{}.ffn_up_exps.weight", routed,
     SIZES(stack(m.width, l.experts->size, l.experts->count)), R::kUp, kStacked},
    {kExpertUpBias, "blk.{}.ffn_up_exps.bias", routed,
     SIZES(matrix(l.experts->size, l.experts->count)), R::kOther, Role::kWeight, Start::kZeros},
    {kExpertDown, "blk.{}.ffn_down_exps.weight", routed,
     SIZES(stack(l.experts->size, m.width, l.experts->count)), R::kDown, kStacked},
    {kExpertDownBias, "blk.{}.ffn_down_exps.bias", routed, SIZES(matrix(m.width, l.experts->count)),
     R::kOther, Role::kWeight, Start::kZeros},
    {kExpertGateUp, "blk.{}.ffn_gate_up_exps.weight", routed,
     SIZES(stack(m.width, 2 * l.experts->size, l.experts->count)), R::kUp, kStacked},
    {kExpertScale, "blk.{}.ffn_down_exps.scale", routed, SIZES(vector(l.experts->count))},
    {kRouterScale, "blk.{}.ffn_gate_inp.scale", routed, SIZES(vector(m.width))},
    {kPostDenseNorm, "blk.{}.post_ffw_norm_1.weight", routed, SIZES(vector(m.width))},
    {kExpertsNorm, "blk.{}.pre_ffw_norm_2.weight", routed, SIZES(vector(m.width))},
    {kPostExpertsNorm, "blk.{}.post_ffw_norm_2.weight", routed, SIZES(vector(m.width))},
    {kSharedRouter, "blk.{}.ffn_gate_inp_shexp.weight", shared, SIZES(vector(m.width)), R::kOther,
     Role::kWeight, Start::kNoise},
    {kSharedGate, "blk.{}.ffn_gate_shexp.weight", shared,
     SIZES(matrix(m.width, l.experts->shared_size)), R::kGate},
    {kSharedUp, "blk.{}.ffn_up_shexp.weight", shared,
     SIZES(matrix(m.width, l.experts->shared_size)), R::kUp},
    {kSharedDown, "blk.{}.ffn_down_shexp.weight", shared,
     SIZES(matrix(l.experts->shared_size, m.width)), R::kDown},

    {kLayerEmbedding, "per_layer_token_embd.weight", nullptr,
     SIZES(matrix(m.layer_input* std::ssize(m.layers), m.vocabulary)), R::kEmbedding},
    {kLayerModelProjection, "per_layer_model_proj.weight", nullptr,
     SIZES(matrix(m.width, m.layer_input* std::ssize(m.layers))), R::kUp},
    {kLayerProjectionNorm, "per_layer_proj_norm.weight", nullptr, SIZES(vector(m.layer_input))},
    {kLayerInputGate, "blk.{}.inp_gate.weight", every, SIZES(matrix(m.width, m.layer_input)),
     R::kGate},
    {kLayerInputProjection, "blk.{}.proj.weight", every, SIZES(matrix(m.layer_input, m.width)),
     R::kDown},
    {kPostLayerInputNorm, "blk.{}.post_norm.weight", every, SIZES(vector(m.width))},

    {kHead, "cls.weight", nullptr, SIZES(matrix(m.embedding_size(), m.embedding_size())), R::kOther,
     Role::kWeight, Start::kNoise},
    {kHeadBias, "cls.bias", nullptr, SIZES(vector(m.embedding_size())), R::kOther, Role::kWeight,
     Start::kZeros},
    {kHeadNorm, "cls.norm.weight", nullptr, SIZES(vector(m.embedding_size()))},
    {kHeadOutput, "cls.output.weight", nullptr, SIZES(matrix(m.embedding_size(), head_rows(m))),
     R::kOther, Role::kWeight, Start::kNoise},
    {kHeadOutputBias, "cls.output.bias", nullptr, SIZES(vector(head_rows(m))), R::kOther,
     Role::kWeight, Start::kZeros},
}};

#undef SIZES

}  // namespace

const SlotFacts& facts_of(WeightSlot slot) {
  return kSlots[static_cast<std::size_t>(slot)];
}

bool starts_with_noise(const SlotFacts& facts) {
  return facts.start == Start::kNoise ||
         (facts.start == Start::kByRole && facts.role != WeightRole::kOther);
}

float start_of(const SlotFacts& facts) {
  if (facts.start == Start::kZeros) return 0;
  return facts.start == Start::kMinusOnes ? -1 : 1;
}

std::string name_of(const WeightRow& row, std::int64_t layer) {
  std::string name(row.name.empty() ? facts_of(row.slot).name : row.name);
  if (const auto place = name.find("{}"); place != std::string::npos)
    name.replace(place, 2, std::to_string(layer));
  return name;
}

}  // namespace shunt
