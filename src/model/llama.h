// A model of architecture llama as its file describes it: numbers, and weights by their roles.
// llama_layers.h builds its layers.
#pragma once

#include "model/architectures.h"
#include "model/weight_table.h"
#include "shunt/ops.h"

namespace shunt::llama {

/// The sizes that everything else follows from.
struct Numbers {
  std::int64_t width = 0;  // of an embedding
  std::int64_t vocabulary = 0;
  std::int64_t feed_forward = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t key_size = 0;  // of one head
  std::int64_t value_size = 0;
  std::int64_t query_width = 0;  // heads * key_size
  std::int64_t key_width = 0;    // kv_heads * key_size
  std::int64_t value_width = 0;  // kv_heads * value_size
  std::int64_t mixed_width = 0;  // heads * value_size
  std::int64_t rope_pairs = 0;
};

enum Weight : std::size_t {
  kEmbedding,
  kOutputNorm,
  kOutput,
  kRopeFactors,
  kAttentionNorm,
  kQuery,
  kQueryBias,
  kKey,
  kKeyBias,
  kValue,
  kValueBias,
  kMix,
  kMixBias,
  kFeedNorm,
  kGate,
  kGateBias,
  kUp,
  kUpBias,
  kDown,
  kDownBias,
};

/// Their rows, in the order of Weight.
std::span<const WeightRow<Numbers>> weight_table();

/// Const: may be used from many threads.
class Definition final : public ModelDefinition {
 public:
  static Result<std::unique_ptr<ModelDefinition>> read(const gguf::File& file);

  const ModelShape& shape() const override { return shape_; }
  Result<StepGraph> build(const StepShape& step) const override;
  Result<LossGraph> build_loss(GraphBuilder& g, const LossShape& shape) const override;
  std::vector<ModelWeight> weights() const override;
  std::shared_ptr<const ModelDefinition> with_output_apart() const override;
  std::vector<SplitGroup> split_groups() const override;

  const Numbers& numbers() const { return n_; }
  const RopeParams& rope() const { return rope_; }
  float norm_eps() const { return norm_eps_; }
  /// Null: the file lacks it. `layer` is 0 for weights that are not in layers.
  const gguf::TensorInfo* find(Weight which, std::int64_t layer) const {
    return weights_[which][static_cast<std::size_t>(layer)];
  }

 private:
  explicit Definition(const gguf::File& file) : file_(file) {}
  Status read_numbers();

  gguf::File file_;  // keeps the tensors' descriptions
  ModelShape shape_;
  Numbers n_;
  RopeParams rope_;
  float norm_eps_ = 1e-5F;
  FoundWeights weights_;
  gguf::TensorInfo output_;  // of with_output_apart(): the embedding's, again
};

}  // namespace shunt::llama
