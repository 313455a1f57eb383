// The graph of a training step: whole rows of tokens at once, nothing in a cache. Attention is made
// of products and a softmax, each of which has a gradient.
#include <cmath>

#include "model/llama_layers.h"
#include "shunt/message.h"

namespace shunt::llama {

namespace {

class LossBuilder {
 public:
  LossBuilder(GraphBuilder& g, const Definition& model, const LossShape& shape)
      : g_(g), model_(model), n_(model.numbers()), shape_(shape) {}

  Result<LossGraph> build() {
    SHUNT_TRY(make_inputs());
    Result<Value> x = layers_.embed(result_.tokens);
    for (std::int64_t layer = 0; layer < model_.shape().layers; ++layer) {
      x = add(g_, x, attention_block(layer, layers_.attention_norm(x, layer)));
      x = add(g_, x, layers_.feed_forward(x, layer));
    }
    SHUNT_ASSIGN(result_.loss, cross_entropy_loss(g_, layers_.output(x), result_.labels));
    result_.weights = layers_.leaves();
    return std::move(result_);
  }

 private:
  std::int64_t tokens() const { return shape_.context * shape_.rows; }

  Status make_inputs() {
    const auto input = [&](Value& value, const char* name, DType type,
                           const Shape& shape) -> Status {
      SHUNT_ASSIGN(const Tensor tensor, make_tensor(type, shape));
      SHUNT_ASSIGN(value, g_.input(name, tensor));
      return ok();
    };
    SHUNT_TRY(input(result_.tokens, "tokens", DType::kI32, {tokens()}));
    SHUNT_TRY(input(result_.positions, "positions", DType::kI32, {tokens()}));
    SHUNT_TRY(
        input(result_.mask, "mask", DType::kF16, {shape_.context, shape_.context, 1, shape_.rows}));
    return input(result_.labels, "labels", DType::kF32, {n_.vocabulary, tokens()});
  }

  /// [size, heads, tokens] as [size, context, heads, rows].
  Result<Value> by_head(Operand x, std::int64_t size, std::int64_t heads) {
    return permute(g_, reshape(g_, x, {size, heads, shape_.context, shape_.rows}), {0, 2, 1, 3});
  }

  Result<Value> attention_block(std::int64_t layer, Operand x) {
    const Layers::Heads heads = layers_.heads(x, result_.positions, tokens(), layer);
    const Result<Value> queries = by_head(heads.queries, n_.key_size, n_.heads);
    const Result<Value> keys = by_head(heads.keys, n_.key_size, n_.kv_heads);
    const Result<Value> values = by_head(heads.values, n_.value_size, n_.kv_heads);
    const float scale = 1 / std::sqrt(static_cast<float>(n_.key_size));
    const Result<Value> shares =
        softmax(g_, matmul(g_, keys, queries), result_.mask, {.scale = scale});
    const Result<Value> mixed = matmul(g_, permute(g_, values, {1, 0, 2, 3}), shares);
    const Result<Value> by_token = cont(g_, permute(g_, mixed, {0, 2, 1, 3}));
    return layers_.mix(layers_.named(by_token, layer, "attention"), tokens(), layer);
  }

  GraphBuilder& g_;
  const Definition& model_;
  const Numbers& n_;
  const LossShape& shape_;
  Layers layers_{g_, model_, Role::kCache};
  LossGraph result_;
};

}  // namespace

Result<LossGraph> Definition::build_loss(GraphBuilder& g, const LossShape& shape) const {
  return LossBuilder(g, *this, shape).build();
}

}  // namespace shunt::llama
