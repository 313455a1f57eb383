// BERT (arXiv 1810.04805) and encoders built like it: learned positions, and norms after each sum.
#include <algorithm>

#include "model/architectures/describe.h"
#include "model/published.h"

namespace shunt {

Status read_token_types(ArchitectureKeys& keys, Description& model) {
  SHUNT_ASSIGN(const std::int64_t stated,
               keys.file().get_integer_or("tokenizer.ggml.token_type_count", 1));
  model.token_types = keys.of_new_model() ? std::max<std::int64_t>(stated, 1) : 1;
  const gguf::TensorInfo* types = keys.file().find_tensor(name_of({WeightSlot::kTokenTypes}, 0));
  if (types != nullptr) model.token_types = types->tensor.size(1);
  model.add({{WeightSlot::kEmbedding},
             {WeightSlot::kTokenTypes, Need::kOptional},
             {WeightSlot::kEmbeddingNorm},
             {WeightSlot::kEmbeddingNormBias},
             {WeightSlot::kMix},
             {WeightSlot::kMixedNorm},
             {WeightSlot::kMixedNormBias},
             {WeightSlot::kUp},
             {WeightSlot::kDown},
             {WeightSlot::kFedNorm},
             {WeightSlot::kFedNormBias}});
  return ok();
}

Status describe_bert(ArchitectureKeys& keys, Description& model) {
  SHUNT_TRY(read_norm(keys, model, NormKind::kLayer));
  SHUNT_TRY(read_attention(keys, model, RopeMode::kNeox));
  SHUNT_TRY(read_feed_forward(keys, model, Activation::kGeluErf));
  SHUNT_TRY(become_encoder(keys, model));
  for (Layer& layer : model.layers) layer.attention->rope.reset();
  SHUNT_TRY(read_token_types(keys, model));
  add_query_biases(model);
  model.add({{WeightSlot::kPositionEmbedding},
             {WeightSlot::kQuery},
             {WeightSlot::kKey},
             {WeightSlot::kValue},
             {WeightSlot::kMixBias},
             {WeightSlot::kUpBias},
             {WeightSlot::kDownBias}});
  return ok();
}

std::vector<Published> publish_bert() {
  using enum ConfigRule;
  using enum WeightSlot;
  const std::vector<PublishedTensor> tensors = {
      {kEmbedding, "embeddings.word_embeddings.weight"},
      {kPositionEmbedding, "embeddings.position_embeddings.weight"},
      {kTokenTypes, "embeddings.token_type_embeddings.weight"},
      {kEmbeddingNorm, "embeddings.LayerNorm.weight"},
      {kEmbeddingNorm, "embeddings.LayerNorm.gamma"},
      {kEmbeddingNormBias, "embeddings.LayerNorm.bias"},
      {kEmbeddingNormBias, "embeddings.LayerNorm.beta"},
      {kQuery, "attention.self.query.weight"},
      {kQueryBias, "attention.self.query.bias"},
      {kKey, "attention.self.key.weight"},
      {kKeyBias, "attention.self.key.bias"},
      {kValue, "attention.self.value.weight"},
      {kValueBias, "attention.self.value.bias"},
      {kMix, "attention.output.dense.weight"},
      {kMixBias, "attention.output.dense.bias"},
      {kMixedNorm, "attention.output.LayerNorm.weight"},
      {kMixedNorm, "attention.output.LayerNorm.gamma"},
      {kMixedNormBias, "attention.output.LayerNorm.bias"},
      {kMixedNormBias, "attention.output.LayerNorm.beta"},
      {kUp, "intermediate.dense.weight"},
      {kUpBias, "intermediate.dense.bias"},
      {kDown, "output.dense.weight"},
      {kDownBias, "output.dense.bias"},
      {kFedNorm, "output.LayerNorm.weight"},
      {kFedNorm, "output.LayerNorm.gamma"},
      {kFedNormBias, "output.LayerNorm.bias"},
      {kFedNormBias, "output.LayerNorm.beta"}};
  Published bert = {.types = "bert",
                    .architecture = "bert",
                    .numbers = encoder_numbers("attention.layer_norm_epsilon"),
                    .rules = {kHeads, kEncoder},
                    .limits = {{"hidden_act", R"("gelu")"},
                               {"position_embedding_type", R"("absolute")"},
                               {"is_decoder", "false"},
                               {"add_cross_attention", "false"}},
                    .tensors = tensors};
  // RoBERTa (arXiv 1907.11692): positions are counted from the number of the padding token on.
  Published roberta = bert;
  roberta.types = "roberta|xlm-roberta|camembert";
  roberta.rules = {kHeads, kPositions, kEncoder};
  roberta.limits.push_back({"pad_token_id", "1"});
  for (PublishedTensor& tensor : roberta.tensors) {
    if (tensor.slot == kPositionEmbedding) tensor.rows = Rows::kAllButTwo;
  }
  return {std::move(bert), std::move(roberta)};
}

}  // namespace shunt
