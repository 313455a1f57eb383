// Two layers as BERT has them, with what its weights are read from left out.
#include "backends/zdnn/support.h"

namespace shunt::test {
namespace {

constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kTokens = 11;

class Bert {
 public:
  explicit Bert(GraphBuilder& g) : g_(g) {}

  Result<Value> layer(const Result<Value>& x, const Result<Value>& mask) {
    constexpr std::int64_t kSize = kWidth / kHeads;
    const auto heads = [&](const Result<Value>& of) {
      return permute(g_, reshape(g_, of, {kSize, kHeads, kTokens}), {0, 2, 1, 3});
    };
    const auto q = heads(linear(x, kWidth, kWidth));
    const auto k = heads(linear(x, kWidth, kWidth));
    const auto v = permute(g_, heads(linear(x, kWidth, kWidth)), {1, 0, 2, 3});
    const auto weights = softmax(g_, matmul(g_, k, q), mask, {.scale = 0.25F});
    const auto mixed = permute(g_, matmul(g_, v, weights), {0, 2, 1, 3});
    const auto flat = reshape(g_, cont(g_, mixed), {kWidth, kTokens});
    const auto y = layer_norm(add(g_, linear(flat, kWidth, kWidth), x));
    const auto up = gelu_erf(g_, linear(y, kWidth, 2 * kWidth));
    return layer_norm(add(g_, linear(up, 2 * kWidth, kWidth), y));
  }

 private:
  Result<Value> weight(const Shape& shape) {
    return g_.weight("weight " + std::to_string(++count_), *make_tensor(DType::kF32, shape));
  }
  Result<Value> linear(const Result<Value>& x, std::int64_t from, std::int64_t to) {
    return add(g_, matmul(g_, weight({from, to}), x), weight({to}));
  }
  Result<Value> layer_norm(const Result<Value>& x) {
    return add(g_, mul(g_, norm(g_, x), weight({kWidth})), weight({kWidth}));
  }

  GraphBuilder& g_;
  int count_ = 0;
};

using ZdnnBert = ZdnnTest;

TEST_F(ZdnnBert, IsWhatTheReferenceGives) {
  for (const auto& [profile, old] :
       {std::pair{"z17", false}, std::pair{"z16", false}, std::pair{"z17", true}}) {
    open(profile, old);
    GraphBuilder g;
    Bert bert(g);
    const auto x = g.input("x", *make_tensor(DType::kF32, {kWidth, kTokens}));
    const auto mask = g.input("mask", *make_tensor(DType::kF32, {kTokens, kTokens}));
    ASSERT_TRUE(g.output(bert.layer(bert.layer(x, mask), mask), "y"));
    const auto graph = built(std::move(g));
    // The last three tokens are padding.
    RefTensor hidden({kTokens, kTokens, 1, 1});
    for (std::int64_t row = 0; row < kTokens; ++row) {
      for (std::int64_t i = kTokens - 3; i < kTokens; ++i) hidden.at(i, row) = -1e30;
    }
    std::map<NodeId, RefTensor> leaves = {{mask->id, hidden}};
    for (NodeId id = 0; id < graph->size(); ++id) {
      const Node& node = graph->node(id);
      if (node.role != Role::kWeight) continue;
      leaves[id] = make_values({.dtype = DType::kF32,
                                .sizes = max_sizes(node.result.shape),
                                .fill = Fill::kUniform,
                                .low = -0.25,
                                .high = 0.3},
                               id);
    }
    leaves = values(*graph, std::move(leaves));
    const auto error = error_of(graph, leaves);
    ASSERT_TRUE(error) << error.error().message();
    EXPECT_LT(*error, 1e-4) << profile;
    EXPECT_EQ(twin_->objections(), 0U);
    EXPECT_TRUE(zdnn().warnings().empty());
  }
}

}  // namespace
}  // namespace shunt::test
