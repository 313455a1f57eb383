// A small Llama and its loss, for tests of its gradients: token embedding, two layers of attention
// (rotary positions, query heads in groups, a causal mask) and SwiGLU, RMS norms, cross entropy.
#pragma once

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "conformance/case_data.h"
#include "graph/reference.h"
#include "shunt/gradients.h"
#include "shunt/ops.h"

namespace shunt::test {

struct LlamaLoss {
  GraphBuilder g;
  std::vector<RefTensor> leaves;  ///< their values, by node
  std::vector<Value> weights;
  Result<Value> loss;
};

enum class LlamaAttention : std::uint8_t { kOfProducts, kOneOp };

class SmallLlama {
 public:
  static constexpr std::int64_t kWidth = 8;
  static constexpr std::int64_t kHeads = 4;
  static constexpr std::int64_t kKvHeads = 2;
  static constexpr std::int64_t kHead = kWidth / kHeads;
  static constexpr std::int64_t kFeedForward = 10;
  static constexpr std::int64_t kVocabulary = 9;
  static constexpr std::int64_t kTokens = 5;
  static constexpr int kLayers = 2;

  static LlamaLoss build(LlamaAttention attention) {
    SmallLlama llama(attention);
    llama.made_.loss = llama.loss();
    return std::move(llama.made_);
  }

 private:
  explicit SmallLlama(LlamaAttention attention) : attention_(attention) {}

  Value leaf(const std::string& name, DType type, const Sizes& sizes, RefTensor values) {
    const Tensor tensor = *make_tensor(type, {sizes[0], sizes[1], sizes[2], sizes[3]});
    const Value value = type == DType::kF32 && name != "labels" && name != "mask"
                            ? *made_.g.weight(name, tensor)
                            : *made_.g.input(name, tensor);
    made_.leaves.resize(value.id + 1);
    made_.leaves[value.id] = std::move(values);
    return value;
  }
  Value weight(const std::string& name, std::int64_t columns, std::int64_t rows = 1) {
    CaseSource source{.sizes = {columns, rows, 1, 1}, .fill = Fill::kUniform};
    source.low = rows == 1 ? 0.5 : -0.6;
    source.high = rows == 1 ? 1.5 : 0.7;
    const auto seed = static_cast<std::uint64_t>(made_.weights.size());
    made_.weights.push_back(leaf(name, DType::kF32, source.sizes, make_values(source, seed)));
    return made_.weights.back();
  }
  Value numbers(const std::string& name, std::vector<double> values) {
    RefTensor tensor({static_cast<std::int64_t>(values.size()), 1, 1, 1});
    tensor.data = std::move(values);
    const Sizes sizes = tensor.sizes;
    return leaf(name, DType::kI32, sizes, std::move(tensor));
  }

  Result<Value> normed(Operand x, const std::string& name) {
    return mul(made_.g, rms_norm(made_.g, x), weight(name, kWidth));
  }

  /// [D, heads, T], turned by the positions or not.
  Result<Value> heads(Operand x, const std::string& name, std::int64_t count, bool turned) {
    GraphBuilder& g = made_.g;
    const Result<Value> all = matmul(g, weight(name, kWidth, kHead * count), x);
    const Result<Value> each = reshape(g, all, {kHead, count, kTokens});
    return turned ? rope(g, each, positions_, absent(), {.dims = kHead}) : each;
  }

  Result<Value> attend(Operand q, Operand k, Operand v) {
    GraphBuilder& g = made_.g;
    const float how = 1 / std::sqrt(static_cast<float>(kHead));
    if (attention_ == LlamaAttention::kOneOp) return attention(g, q, k, v, mask_, {.scale = how});
    const auto scores = matmul(g, permute(g, k, {0, 2, 1, 3}), permute(g, q, {0, 2, 1, 3}));
    const auto p = softmax(g, scores, mask_, {.scale = how});
    return cont(g, permute(g, matmul(g, permute(g, v, {2, 0, 1, 3}), p), {0, 2, 1, 3}));
  }

  Result<Value> layer(Operand x, const std::string& prefix) {
    GraphBuilder& g = made_.g;
    const auto a = normed(x, prefix + "attention_norm");
    const auto attended =
        attend(heads(a, prefix + "q", kHeads, true), heads(a, prefix + "k", kKvHeads, true),
               heads(a, prefix + "v", kKvHeads, false));
    const auto mixed =
        matmul(g, weight(prefix + "o", kWidth, kWidth), reshape(g, attended, {kWidth, kTokens}));
    const auto middle = add(g, x, mixed);
    const auto b = normed(middle, prefix + "ffn_norm");
    const auto gate = matmul(g, weight(prefix + "gate", kWidth, kFeedForward), b);
    const auto up = matmul(g, weight(prefix + "up", kWidth, kFeedForward), b);
    const auto down = matmul(g, weight(prefix + "down", kFeedForward, kWidth), swiglu(g, gate, up));
    return add(g, middle, down);
  }

  Result<Value> loss() {
    GraphBuilder& g = made_.g;
    // A token that comes twice, and some that don't come.
    const Value tokens = numbers("tokens", {3, 1, 3, 8, 0});
    positions_ = numbers("positions", {0, 1, 2, 3, 4});
    RefTensor mask({kTokens, kTokens, 1, 1});
    RefTensor labels({kVocabulary, kTokens, 1, 1});
    for (std::int64_t t = 0; t < kTokens; ++t) {
      for (std::int64_t n = t + 1; n < kTokens; ++n)
        mask.at(n, t) = -std::numeric_limits<double>::infinity();
      labels.at((3 * t + 1) % kVocabulary, t) = 1;
    }
    mask_ = leaf("mask", DType::kF32, mask.sizes, mask);
    const Value wanted = leaf("labels", DType::kF32, labels.sizes, labels);
    Result<Value> x = get_rows(g, weight("embedding", kWidth, kVocabulary), tokens);
    for (int i = 0; i < kLayers; ++i) x = layer(x, std::to_string(i) + ".");
    const auto logits = matmul(g, weight("output", kWidth, kVocabulary), normed(x, "output_norm"));
    return cross_entropy_loss(g, logits, wanted);
  }

  LlamaLoss made_;
  LlamaAttention attention_;
  Result<Value> positions_;
  Result<Value> mask_;
};

}  // namespace shunt::test
