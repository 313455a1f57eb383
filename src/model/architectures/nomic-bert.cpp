// Nomic Embed (arXiv 2402.01613): BERT with rope, one matrix for queries, keys and values, and a
// gate.
#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status describe_nomic_bert(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model, NormKind::kLayer));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model));
  SHUNT_TRY(become_encoder(keys, model));
  SHUNT_TRY(read_token_types(keys, model));
  model.add({{WeightSlot::kQueryKeyValue}, {WeightSlot::kGate}});
  return ok();
}

std::vector<Published> publish_nomic_bert() {
  using enum ConfigRule;
  using enum WeightSlot;
  return {{.types = "nomic_bert",
           .architecture = "nomic-bert",
           .numbers = encoder_numbers("attention.layer_norm_epsilon"),
           .rules = {kHeads, kRope, kEncoder},
           .limits = {{"hidden_act", R"("silu")"},
                      {"activation_function", R"("swiglu")"},
                      {"rotary_emb_fraction", "1.0"},
                      {"rotary_emb_interleaved", "false"},
                      {"rotary_emb_scale_base", "null"},
                      {"rotary_scaling_factor", "null"},
                      {"qkv_proj_bias", "false"},
                      {"mlp_fc1_bias", "false"},
                      {"mlp_fc2_bias", "false"},
                      {"prenorm", "false"},
                      {"use_rms_norm", "false"},
                      {"parallel_block", "false"},
                      {"causal", "false"},
                      {"moe_every_n_layers", "0|-1"}},
           .tensors = {{kEmbedding, "embeddings.word_embeddings.weight"},
                       {kTokenTypes, "embeddings.token_type_embeddings.weight"},
                       {kEmbeddingNorm, "emb_ln.weight"},
                       {kEmbeddingNormBias, "emb_ln.bias"},
                       {kQueryKeyValue, "attn.Wqkv.weight"},
                       {kMix, "attn.out_proj.weight"},
                       {kMixedNorm, "norm1.weight"},
                       {kMixedNormBias, "norm1.bias"},
                       {kUp, "mlp.fc11.weight"},
                       {kGate, "mlp.fc12.weight"},
                       {kDown, "mlp.fc2.weight"},
                       {kFedNorm, "norm2.weight"},
                       {kFedNormBias, "norm2.bias"}}}};
}

}  // namespace shunt
