#include "support/networks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/reference.h"
#include "shunt/ops.h"
#include "support/tensor_io.h"
#include "unit/schedule/step_graphs.h"

namespace shunt::test {
namespace {

/// The common parts of both: weights by number, products with them, heads.
class Layers {
 public:
  Layers(std::int64_t width, std::int64_t tokens) : width_(width), tokens_(tokens) {}

 protected:
  Result<Value> weight(const Shape& shape) {
    return g_.weight("weight " + std::to_string(++count_), *make_tensor(DType::kF32, shape));
  }
  Result<Value> product(const Result<Value>& x, std::int64_t from, std::int64_t to) {
    return matmul(g_, weight({from, to}), x);
  }
  /// [size * heads, tokens] as [size, tokens, heads].
  Result<Value> heads(const Result<Value>& x, std::int64_t count) {
    const std::int64_t size = g_.tensor(*x).size(0) / count;
    return permute(g_, reshape(g_, x, {size, count, tokens_}), {0, 2, 1, 3});
  }
  /// The mix of the values for each token, all heads side by side.
  Result<Value> mix(const Result<Value>& weights, const Result<Value>& v) {
    const auto mixed = matmul(g_, permute(g_, v, {1, 0, 2, 3}), weights);
    const std::int64_t all = g_.tensor(*mixed).size(0) * g_.tensor(*mixed).size(2);
    return reshape(g_, cont(g_, permute(g_, mixed, {0, 2, 1, 3})), {all, tokens_});
  }
  /// The graph, with small numbers for weights, and normal ones for inputs that are not `known`.
  Network finish(const Result<Value>& y, std::map<NodeId, RefTensor> known, std::size_t refused,
                 std::string first_refused) {
    EXPECT_TRUE(g_.output(y, "y"));
    auto graph = std::move(g_).build();
    EXPECT_TRUE(graph) << graph.error().message();
    Network made{std::make_shared<const Graph>(std::move(*graph)), std::move(known), refused,
                 std::move(first_refused)};
    for (NodeId id = 0; id < made.graph->size(); ++id) {
      const Node& node = made.graph->node(id);
      if (!node.is_leaf() || made.leaves.contains(id)) continue;
      CaseSource source{.dtype = DType::kF32, .sizes = max_sizes(node.result.shape)};
      if (node.role == Role::kWeight) {
        source.fill = Fill::kUniform;
        source.low = -0.25;
        source.high = 0.3;
      }
      made.leaves[id] = make_values(source, id);
    }
    return made;
  }

  GraphBuilder g_;
  std::int64_t width_;
  std::int64_t tokens_;
  int count_ = 0;
};

class Bert : Layers {
 public:
  Bert() : Layers(64, 11) {}
  Network run() {
    const auto x = g_.input("x", *make_tensor(DType::kF32, {width_, tokens_}));
    const auto mask = g_.input("mask", *make_tensor(DType::kF32, {tokens_, tokens_}));
    RefTensor hidden({tokens_, tokens_, 1, 1});
    for (std::int64_t row = 0; row < tokens_; ++row) {
      for (std::int64_t i = tokens_ - 3; i < tokens_; ++i) hidden.at(i, row) = -1e30;
    }
    // Of each layer it is the one that brings heads together.
    return finish(layer(layer(x, mask), mask), {{mask->id, hidden}}, 2, "cont");
  }

 private:
  static constexpr std::int64_t kHeads = 4;

  Result<Value> linear(const Result<Value>& x, std::int64_t from, std::int64_t to) {
    return add(g_, product(x, from, to), weight({to}));
  }
  Result<Value> layer_norm(const Result<Value>& x) {
    return add(g_, mul(g_, norm(g_, x), weight({width_})), weight({width_}));
  }
  Result<Value> layer(const Result<Value>& x, const Result<Value>& mask) {
    const auto q = heads(linear(x, width_, width_), kHeads);
    const auto k = heads(linear(x, width_, width_), kHeads);
    const auto v = heads(linear(x, width_, width_), kHeads);
    const auto flat = mix(softmax(g_, matmul(g_, k, q), mask, {.scale = 0.25F}), v);
    const auto y = layer_norm(add(g_, linear(flat, width_, width_), x));
    const auto up = gelu_erf(g_, linear(y, width_, 2 * width_));
    return layer_norm(add(g_, linear(up, 2 * width_, width_), y));
  }
};

class Gemma : Layers {
 public:
  Gemma() : Layers(64, 9) {}
  Network run() {
    const auto ids = g_.input("ids", *make_tensor(DType::kI32, {tokens_}));
    positions_ = g_.input("positions", *make_tensor(DType::kI32, {tokens_}));
    mask_ = g_.input("mask", *make_tensor(DType::kF32, {tokens_, tokens_}));
    const auto table = g_.weight("table", *make_tensor(DType::kF32, {width_, kVocabulary}));
    auto x = scale(g_, get_rows(g_, table, ids), {.scale = std::sqrt(float(width_))});
    x = layer(layer(x));
    const auto logits = capped(matmul(g_, table, normed(x)), 30);
    std::map<NodeId, RefTensor> known;
    known[ids->id] = make_values({.dtype = DType::kI32,
                                  .sizes = {tokens_, 1, 1, 1},
                                  .fill = Fill::kIndex,
                                  .low = 0,
                                  .high = kVocabulary},
                                 1);
    RefTensor positions({tokens_, 1, 1, 1});
    RefTensor causal({tokens_, tokens_, 1, 1});
    for (std::int64_t t = 0; t < tokens_; ++t) {
      positions.at(t) = static_cast<double>(t);
      for (std::int64_t later = t + 1; later < tokens_; ++later) {
        causal.at(later, t) = -std::numeric_limits<double>::infinity();
      }
    }
    known[positions_->id] = positions;
    known[mask_->id] = causal;
    // The rows of the embedding; of each layer two turns, and one that brings heads together.
    return finish(logits, std::move(known), 1 + 2 * 3, "get_rows");
  }

 private:
  static constexpr std::int64_t kVocabulary = 96;
  static constexpr std::int64_t kHeads = 4;
  static constexpr std::int64_t kKeyHeads = 2;
  static constexpr std::int64_t kSize = 16;

  Result<Value> normed(const Result<Value>& x) {
    return mul(g_, rms_norm(g_, x, {.eps = 1e-6F}), scale(g_, weight({width_}), {.bias = 1}));
  }
  Result<Value> capped(const Result<Value>& x, float cap) {
    return scale(g_, tanh(g_, scale(g_, x, {.scale = 1 / cap})), {.scale = cap});
  }
  Result<Value> turned(const Result<Value>& x, std::int64_t count) {
    const auto split = reshape(g_, x, {kSize, count, tokens_});
    const RopeParams params{.dims = kSize, .mode = RopeMode::kNeox};
    return permute(g_, rope(g_, split, positions_, absent(), params), {0, 2, 1, 3});
  }
  Result<Value> attention_of(const Result<Value>& x) {
    const auto q = turned(product(x, width_, kHeads * kSize), kHeads);
    const auto k = turned(product(x, width_, kKeyHeads * kSize), kKeyHeads);
    const auto v = heads(product(x, width_, kKeyHeads * kSize), kKeyHeads);
    const auto scores = capped(scale(g_, matmul(g_, k, q), {.scale = 0.25F}), 50);
    return product(mix(softmax(g_, scores, mask_), v), kHeads * kSize, width_);
  }
  Result<Value> layer(const Result<Value>& x) {
    const auto seen = add(g_, normed(attention_of(normed(x))), x);
    const auto in = normed(seen);
    const auto both = geglu(g_, product(in, width_, 3 * width_), product(in, width_, 3 * width_));
    return add(g_, normed(product(both, 3 * width_, width_)), seen);
  }

  Result<Value> positions_;
  Result<Value> mask_;
};

RefTensor leaf_values(const Graph& graph, NodeId id) {
  const Tensor& tensor = graph.node(id).result;
  CaseSource source{.dtype = tensor.dtype, .sizes = max_sizes(tensor.shape)};
  if (trait(tensor.dtype).integer) {
    source.fill = Fill::kPermutation;
    source.high = static_cast<double>(std::max<std::int64_t>(source.sizes[0], 10));
  } else {
    source.fill = Fill::kUniform;
    source.low = -0.2;
    source.high = 0.3;
  }
  return make_values(source, id);
}

}  // namespace

Network bert() {
  return Bert().run();
}

Network gemma() {
  return Gemma().run();
}

Network with_values(Result<Graph> graph) {
  EXPECT_TRUE(graph) << graph.error().message();
  Network network{std::make_shared<const Graph>(std::move(*graph)), {}};
  for (NodeId id = 0; id < network.graph->size(); ++id) {
    if (network.graph->node(id).is_leaf()) network.leaves[id] = leaf_values(*network.graph, id);
  }
  return network;
}

Network small_transformer(std::int64_t experts, std::int64_t used, std::int64_t tokens) {
  return with_values(transformer_step({.layers = 2,
                                       .width = 64,
                                       .feed_forward = 96,
                                       .heads = 4,
                                       .kv_heads = 2,
                                       .vocabulary = 50,
                                       .experts = experts,
                                       .used = used,
                                       .tokens = tokens,
                                       .context = 12,
                                       .weights = DType::kF32}));
}

double reference_error(const GraphRun& run, const Network& network) {
  std::vector<RefTensor> by_node(network.graph->size());
  for (const auto& [id, values] : network.leaves) by_node[id] = values;
  const auto reference = reference_run(*network.graph, by_node);
  EXPECT_TRUE(reference) << reference.error().message();
  const NodeId output = network.graph->outputs()[0];
  return nmse(run.output(output).value(), (*reference)[output]);
}

}  // namespace shunt::test
