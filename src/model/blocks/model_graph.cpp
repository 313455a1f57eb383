// All layers of a model, from token ids to logits.
#include <cmath>

#include "model/blocks/layers.h"

namespace shunt {

namespace {

class ModelGraph {
 public:
  ModelGraph(BlockContext& c, Operand outputs, Dim output_count, bool embeddings)
      : c_(c), outputs_(outputs), output_count_(output_count), embeddings_(embeddings) {}

  Result<Value> build(Operand tokens) {
    Result<Value> x = w().embeddings(tokens);
    if (m().embedding_scale != 1) x = scale(g(), x, {.scale = m().embedding_scale});
    x = w().norm(with_places(x), WeightSlot::kEmbeddingNorm, 0, WeightSlot::kEmbeddingNormBias);
    if (m().layer_input > 0) embed_for_layers(tokens, x);
    for (std::int64_t number = 0; number < std::ssize(m().layers); ++number) x = layer(x, number);
    x = w().norm(x, WeightSlot::kOutputNorm, 0, WeightSlot::kOutputNormBias);
    return embeddings_ ? embedding(x) : logits(x);
  }

 private:
  GraphBuilder& g() { return c_.g; }
  GraphWeights& w() { return c_.weights; }
  const Description& m() const { return c_.model; }

  /// An encoder's embeddings with those of positions, and of the types of tokens.
  Result<Value> with_places(Operand embedded) {
    Result<Value> x = embedded;
    if (w().has(WeightSlot::kPositionEmbedding)) {
      x = add(g(), x,
              get_rows(g(), w().weight(WeightSlot::kPositionEmbedding), c_.memory.positions()));
    }
    if (w().has(WeightSlot::kTokenTypes)) {
      const Result<Value> all = w().weight(WeightSlot::kTokenTypes);
      const Result<Value> types = c_.memory.token_types();
      const bool differ = types && types->id != kNoNode;
      x = add(g(), x,
              differ ? get_rows(g(), all, types) : view(g(), all, {0, 0, 0, 0}, {m().width, 1}));
    }
    return x;
  }

  Result<Value> layer(Operand before, std::int64_t number) {
    const Layer& layer = m().layers[to_size(number)];
    Result<Value> x = before;
    Result<Value> normed = w().norm(x, WeightSlot::kMixNorm, number, WeightSlot::kMixNormBias);
    Result<Value> mixed = w().norm(mix(layer, normed, number), WeightSlot::kPostMixNorm, number);
    const bool narrows =
        outputs_ && outputs_->id != kNoNode && number + 1 == std::ssize(m().layers);
    const Dim columns = narrows ? output_count_ : c_.memory.tokens();
    if (m().parallel) {
      if (narrows) {
        normed = get_rows(g(), normed, outputs_);
        mixed = get_rows(g(), mixed, outputs_);
        x = get_rows(g(), x, outputs_);
      }
      return plus(plus(x, mixed), feed(layer, normed, columns, number));
    }
    x = plus(x, mixed);
    // From here on tokens are independent: continue with those whose logits are computed.
    if (narrows) {
      x = get_rows(g(), x, outputs_);
      if (m().layer_input > 0) layer_inputs_ = get_rows(g(), layer_inputs_, outputs_);
    }
    x = w().norm(x, WeightSlot::kMixedNorm, number, WeightSlot::kMixedNormBias);
    if (!layer.feed_forward && !layer.experts) return x;
    const Result<Value> y = w().norm(x, WeightSlot::kFeedNorm, number, WeightSlot::kFeedNormBias);
    const Result<Value> fed = layer.feed_forward && layer.experts
                                  ? feed_both(layer, x, y, columns, number)
                                  : feed(layer, y, columns, number);
    x = plus(x, w().norm(fed, WeightSlot::kPostFeedNorm, number));
    x = w().norm(x, WeightSlot::kFedNorm, number, WeightSlot::kFedNormBias);
    if (m().layer_input > 0) x = with_layer_input(x, columns, number);
    if (!w().has(WeightSlot::kLayerScale, number)) return x;
    return mul(g(), x, w().weight(WeightSlot::kLayerScale, number));
  }

  /// The normed results of the feed-forward part and of the experts, added (Gemma 4). The experts
  /// have a norm of their own, and the router another one.
  Result<Value> feed_both(const Layer& layer, Operand x, Operand normed, Dim columns,
                          std::int64_t number) {
    const Result<Value> dense =
        w().norm(feed_forward_block(c_, *layer.feed_forward, normed, number),
                 WeightSlot::kPostDenseNorm, number);
    const float share = 1 / std::sqrt(static_cast<float>(m().width));
    const Result<Value> to_route =
        mul(g(), scale(g(), rms_norm(g(), x, {.eps = m().norm_eps}), {.scale = share}),
            w().weight(WeightSlot::kRouterScale, number));
    const Result<Value> sparse =
        experts_block(c_, *layer.experts, to_route, w().norm(x, WeightSlot::kExpertsNorm, number),
                      columns, number);
    return add(g(), dense, w().norm(sparse, WeightSlot::kPostExpertsNorm, number));
  }

  /// The inputs of all layers (Gemma 4): an embedding for each, and a product of the model's
  /// embedding x, [layer_input * layers, tokens].
  void embed_for_layers(Operand tokens, Operand x) {
    const auto size = static_cast<float>(m().layer_input);
    const Shape by_layer = {m().layer_input, std::ssize(m().layers), c_.memory.tokens()};
    const Result<Value> own =
        scale(g(), get_rows(g(), w().weight(WeightSlot::kLayerEmbedding), tokens),
              {.scale = std::sqrt(size)});
    const float share = 1 / std::sqrt(static_cast<float>(m().width));
    const Result<Value> projected =
        scale(g(), w().product(x, WeightSlot::kLayerModelProjection), {.scale = share});
    const Result<Value> normed =
        w().rms(reshape(g(), projected, by_layer), WeightSlot::kLayerProjectionNorm, 0);
    const float half = 1 / std::sqrt(2.0F);
    layer_inputs_ =
        reshape(g(), scale(g(), add(g(), normed, reshape(g(), own, by_layer)), {.scale = half}),
                {m().layer_input * std::ssize(m().layers), c_.memory.tokens()});
  }

  Result<Value> with_layer_input(Operand x, Dim columns, std::int64_t number) {
    const Result<Value> input =
        view(g(), layer_inputs_, {number * m().layer_input, 0, 0, 0}, {m().layer_input, columns});
    const Result<Value> gate = w().linear(x, WeightSlot::kLayerInputGate, number);
    const Result<Value> y =
        w().linear(geglu(g(), gate, cont(g(), input)), WeightSlot::kLayerInputProjection, number);
    return add(g(), x, w().norm(y, WeightSlot::kPostLayerInputNorm, number));
  }

  /// x + residual_scale * y
  Result<Value> plus(Operand x, Operand y) {
    const float factor = m().residual_scale;
    return add(g(), x, factor == 1 ? y : scale(g(), y, {.scale = factor}));
  }

  Result<Value> mix(const Layer& layer, Operand x, std::int64_t number) {
    Result<Value> sum = absent();
    const auto take = [&](Result<Value> y) {
      sum = sum && sum->id == kNoNode ? std::move(y) : add(g(), sum, y);
    };
    if (layer.attention) take(attention_block(c_, *layer.attention, x, number));
    if (layer.latent_attention)
      take(latent_attention_block(c_, *layer.latent_attention, x, number));
    if (layer.delta_net) take(delta_net_block(c_, *layer.delta_net, x, number));
    if (layer.state_space) take(state_space_block(c_, *layer.state_space, x, number));
    if (layer.short_convolution)
      take(short_convolution_block(c_, *layer.short_convolution, x, number));
    return sum;
  }

  Result<Value> feed(const Layer& layer, Operand x, Dim columns, std::int64_t number) {
    if (layer.feed_forward) return feed_forward_block(c_, *layer.feed_forward, x, number);
    return experts_block(c_, *layer.experts, x, columns, number);
  }

  /// Two matrices follow the pooling of some models. They are linear, so a mean of their results is
  /// the same as their results of the mean.
  Result<Value> embedding(Operand x) {
    if (m().dense_outputs == 0) return x;
    return w().product(w().product(x, WeightSlot::kDenseUp), WeightSlot::kDenseDown);
  }

  Result<Value> logits(Operand x) {
    const WeightSlot matrix =
        w().has(WeightSlot::kOutput) ? WeightSlot::kOutput : WeightSlot::kEmbedding;
    Result<Value> y = w().with_adapters(matmul(g(), w().weight(matrix), x), x, WeightSlot::kOutput);
    if (m().logit_scale != 1) y = scale(g(), y, {.scale = m().logit_scale});
    if (const float cap = m().logit_softcap; cap != 0)
      y = scale(g(), tanh(g(), scale(g(), y, {.scale = 1 / cap})), {.scale = cap});
    return y;
  }

  BlockContext& c_;
  Result<Value> outputs_;
  Result<Value> layer_inputs_ = absent();
  Dim output_count_;
  bool embeddings_;
};

}  // namespace

Result<Value> model_graph(BlockContext& c, Operand tokens, Operand outputs, Dim output_count,
                          bool embeddings) {
  return ModelGraph(c, outputs, output_count, embeddings).build(tokens);
}

}  // namespace shunt
