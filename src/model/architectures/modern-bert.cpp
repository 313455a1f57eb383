// ModernBERT (arXiv 2412.13663): rope, windows in two of three layers, and norms before each part
// but the first.
#include "model/architectures/describe.h"
#include "model/published.h"
#include "shunt/message.h"

namespace shunt {

namespace {

Result<Activation> read_activation(ArchitectureKeys& keys) {
  constexpr const char* kKey = "hidden_activation";
  SHUNT_ASSIGN(const std::string name, keys.string_or(kKey, "gelu"));
  if (name == "gelu") return Activation::kGeluErf;
  if (name == "silu") return Activation::kSilu;  // some of Granite's embedding models
  return fail(ErrorCode::kUnsupported, "{}: {} is \"{}\"; supported are gelu and silu",
              keys.file().path(), keys.name(kKey), name);
}

}  // namespace

Status describe_modern_bert(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model));
  model.norm = NormKind::kLayer;  // whatever the key is called
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_ASSIGN(const Activation activation, read_activation(keys));
  SHUNT_TRY(read_feed_forward(keys, model, activation));
  SHUNT_TRY(read_windows(
      keys, model, [](std::int64_t layer) { return layer % 3 != 0; }, 0, WholeLayer::kFirst));
  SHUNT_TRY(read_window_rope(keys, model, 10000));
  SHUNT_TRY(become_encoder(keys, model));
  for (Layer& layer : model.layers) layer.feed_forward->fused = true;
  model.normed_head = true;
  // The first layer of a file has none.
  const WeightRow norm = {WeightSlot::kMixNorm,
                          keys.of_new_model() ? Need::kNeeded : Need::kOptional};
  for (std::int64_t layer = 1; layer < std::ssize(model.layers); ++layer) {
    const std::string name = name_of(norm, layer);
    if (keys.of_new_model() || keys.file().find_tensor(name) != nullptr) continue;
    return fail(ErrorCode::kBadFile, "{}: tensor {} is missing", keys.file().path(), name);
  }
  model.add({{WeightSlot::kEmbedding},
             {WeightSlot::kEmbeddingNorm},
             norm,
             {WeightSlot::kQueryKeyValue},
             {WeightSlot::kMix},
             {WeightSlot::kFeedNorm},
             {WeightSlot::kUp},
             {WeightSlot::kDown},
             {WeightSlot::kOutputNorm}});
  return ok();
}

std::vector<Published> publish_modern_bert() {
  using enum ConfigRule;
  using enum WeightSlot;
  return {{.types = "modernbert",
           .architecture = "modern-bert",
           .numbers = encoder_numbers(
               "attention.layer_norm_rms_epsilon",
               {{"attention.sliding_window", "local_attention"},
                {"hidden_activation", "hidden_activation", ConfigKind::kText, "-"}}),
           .rules = {kHeads, kRope, kWindowRope, kNoRope, kEncoder},
           .limits = {{"hidden_activation", R"("gelu"|"silu")"},
                      {"global_attn_every_n_layers", "3"},
                      {"norm_bias", "false"},
                      {"classifier_activation", R"("gelu")"},
                      {"attention_bias", "false"},
                      {"mlp_bias", "false"}},
           .tensors = {{kEmbedding, "embeddings.tok_embeddings.weight"},
                       {kEmbeddingNorm, "embeddings.norm.weight"},
                       {.slot = kMixNorm, .name = "attn_norm.weight", .not_in_first = true},
                       {kQueryKeyValue, "attn.Wqkv.weight"},
                       {kMix, "attn.Wo.weight"},
                       {kFeedNorm, "mlp_norm.weight"},
                       {kUp, "mlp.Wi.weight"},
                       {kDown, "mlp.Wo.weight"},
                       {kOutputNorm, "final_norm.weight"}}}};
}

}  // namespace shunt
