// The common parts of a Llama's graphs for inference and training: weights as leaves, and all
// computations with them except attention itself.
#pragma once

#include <string_view>

#include "model/llama.h"

namespace shunt::llama {

/// Each call passes on the first error, which comes out at the end.
class Layers {
 public:
  /// Weights become leaves of `role`, kWeight or kCache, of their file's type, or of F32 if they
  /// are caches. A tensor that is never trained is a weight in any case.
  Layers(GraphBuilder& g, const Definition& model, Role role) : g_(g), model_(model), role_(role) {}

  /// Those asked for so far.
  const std::vector<WeightLeaf>& leaves() const { return leaves_; }

  Result<Value> embed(Operand tokens) { return get_rows(g_, weight(kEmbedding), tokens); }
  /// Logits of the last layer's result.
  Result<Value> output(Operand x);
  Result<Value> attention_norm(Operand x, std::int64_t layer) {
    return norm(x, kAttentionNorm, layer);
  }
  /// The feed-forward part, its norm included.
  Result<Value> feed_forward(Operand x, std::int64_t layer);

  /// Heads [size, heads, tokens] of x, with queries and keys turned by their positions.
  struct Heads {
    Result<Value> queries;
    Result<Value> keys;
    Result<Value> values;  ///< [value_width, tokens]
  };
  Heads heads(Operand x, Operand positions, Dim tokens, std::int64_t layer);
  /// The output projection of attention's result, [value_size, heads, ...] of `tokens` tokens.
  Result<Value> mix(Operand attention, Dim tokens, std::int64_t layer);

  /// Gives a result a name for people: "blk.3.attention".
  Result<Value> named(Result<Value> value, std::int64_t layer, std::string_view what);

 private:
  Result<Value> weight(Weight which, std::int64_t layer = 0);
  Result<Value> norm(Operand x, Weight which, std::int64_t layer);
  Result<Value> linear(Operand x, Weight which, Weight bias, std::int64_t layer,
                       std::string_view what);

  GraphBuilder& g_;
  const Definition& model_;
  Role role_;
  std::vector<WeightLeaf> leaves_;
};

}  // namespace shunt::llama
