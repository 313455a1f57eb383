// Sums of squares of the activations of each weight, in graphs whose node values are set by hand.
#include "evaluate/activation_sums.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "shunt/ops.h"

namespace shunt::test::engine_activation_sums_test {
namespace {

using testing::ElementsAre;

Tensor tensor_of(DType type, const Shape& shape) {
  return *make_tensor(type, shape);
}

class ActivationSumsTest : public testing::Test {
 protected:
  /// Something that is computed.
  Result<Value> computed(DType type, const Shape& shape) {
    return cont(g_, g_.input("in", tensor_of(type, shape)));
  }
  void build() {
    auto graph = std::move(g_).build();
    ASSERT_TRUE(graph) << graph.error().message();
    graph_ = std::make_unique<Graph>(std::move(*graph));
    sums_ = std::make_unique<ActivationSums>(*graph_);
  }
  template <class T>
  Status show(NodeId node, const std::vector<T>& values) {
    const Tensor& tensor = graph_->node(node).result;
    return sums_->add({.node = node,
                       .tensor = tensor,
                       .sizes = max_sizes(tensor.shape),
                       .bytes = std::as_bytes(std::span(values))},
                      graph_->max_dynamic_dims());
  }

  GraphBuilder g_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<ActivationSums> sums_;
};

TEST_F(ActivationSumsTest, MatmulSumsSquaresPerInputColumn) {
  const auto w = g_.weight("w", tensor_of(DType::kF32, {3, 5}));
  const auto v = g_.weight("v", tensor_of(DType::kF32, {3, 4}));
  const auto x = computed(DType::kF32, {3, 2});
  ASSERT_TRUE(g_.output(matmul(g_, w, x), "y"));
  ASSERT_TRUE(g_.output(matmul(g_, v, x), "z"));
  build();
  EXPECT_THAT(sums_->nodes(), ElementsAre(x->id));
  ASSERT_TRUE(show<float>(x->id, {1, 2, 3, 10, 20, 30}));
  ASSERT_TRUE(show<float>(x->id, {0, 1, 0, 0, 0, 0}));
  const auto sums = sums_->sums();
  for (const NodeId weight : {w->id, v->id}) {
    EXPECT_THAT(sums.at(weight).squares, ElementsAre(101, 405, 909));
    EXPECT_THAT(sums.at(weight).counts, ElementsAre(4));
  }
}

/// 2.5 and -3 are 0x4100 and 0xc200 in F16, 0x4020 and 0xc040 in BF16.
TEST_F(ActivationSumsTest, DecodesF16AndBf16Activations) {
  const auto w = g_.weight("w", tensor_of(DType::kF32, {2, 5}));
  const auto v = g_.weight("v", tensor_of(DType::kF32, {2, 5}));
  const auto x = computed(DType::kF16, {2, 1});
  const auto z = computed(DType::kBF16, {2, 1});
  ASSERT_TRUE(g_.output(matmul(g_, w, x), "of x"));
  ASSERT_TRUE(g_.output(matmul(g_, v, z), "of z"));
  build();
  ASSERT_TRUE(show<std::uint16_t>(x->id, {0x4100, 0xc200}));
  ASSERT_TRUE(show<std::uint16_t>(z->id, {0x4020, 0xc040}));
  for (const NodeId weight : {w->id, v->id}) {
    EXPECT_THAT(sums_->sums().at(weight).squares, ElementsAre(6.25, 9));
  }
}

TEST_F(ActivationSumsTest, ViewSumsTheElementsThatTheMatmulReads) {
  const auto w = g_.weight("w", tensor_of(DType::kF32, {2, 5}));
  const auto x = computed(DType::kF32, {3, 2});
  // The second row, turned upright, without its first element: [2, 1] of 20, 30.
  const auto seen = view(g_, x, {1, 1, 0, 0}, {2, 1});
  ASSERT_TRUE(g_.output(matmul(g_, w, seen), "y"));
  build();
  ASSERT_TRUE(show<float>(x->id, {1, 2, 3, 10, 20, 30}));
  EXPECT_THAT(sums_->sums().at(w->id).squares, ElementsAre(400, 900));
}

TEST_F(ActivationSumsTest, SlicesAreSummedPerMatrix) {
  const auto w = g_.weight("w", tensor_of(DType::kF32, {1, 5, 2}));
  const auto x = computed(DType::kF32, {1, 1, 4});  // slices 0 and 1 meet the first matrix
  ASSERT_TRUE(g_.output(matmul(g_, w, x), "y"));
  build();
  ASSERT_TRUE(show<float>(x->id, {1, 2, 3, 4}));
  EXPECT_THAT(sums_->sums().at(w->id).squares, ElementsAre(5, 25));
  EXPECT_THAT(sums_->sums().at(w->id).counts, ElementsAre(2, 2));
}

TEST_F(ActivationSumsTest, ExpertsSumOnlyTokensRoutedToThem) {
  const auto w = g_.weight("w", tensor_of(DType::kF32, {2, 5, 3}), Role::kExpertWeight);
  const auto d = g_.weight("d", tensor_of(DType::kF32, {1, 5, 3}), Role::kExpertWeight);
  const auto x = computed(DType::kF32, {2, 1, 2});  // one column for both experts
  const auto ids = computed(DType::kI32, {2, 2});
  ASSERT_TRUE(g_.output(matmul_id(g_, w, x, ids), "y"));
  const auto h = computed(DType::kF32, {1, 2, 2});  // a column for each
  ASSERT_TRUE(g_.output(matmul_id(g_, d, h, ids), "z"));
  build();
  EXPECT_THAT(sums_->nodes(), ElementsAre(x->id, ids->id, h->id));
  ASSERT_TRUE(show<float>(x->id, {1, 2, 3, 4}));
  ASSERT_TRUE(show<std::int32_t>(ids->id, {2, 0, 2, 2}));
  ASSERT_TRUE(show<float>(h->id, {1, 10, 2, 3}));
  const auto sums = sums_->sums();
  EXPECT_THAT(sums.at(w->id).squares, ElementsAre(1, 4, 0, 0, 1 + 9 + 9, 4 + 16 + 16));
  EXPECT_THAT(sums.at(w->id).counts, ElementsAre(1, 0, 3));
  EXPECT_THAT(sums.at(d->id).squares, ElementsAre(100, 0, 1 + 4 + 9));
  EXPECT_THAT(sums.at(d->id).counts, ElementsAre(1, 0, 3));
}

TEST_F(ActivationSumsTest, Accepts64BitExpertIds) {
  const auto w = g_.weight("w", tensor_of(DType::kF32, {1, 5, 3}), Role::kExpertWeight);
  const auto x = computed(DType::kF16, {1, 1, 2});
  const auto ids = computed(DType::kI64, {1, 2});
  ASSERT_TRUE(g_.output(matmul_id(g_, w, x, ids), "y"));
  build();
  ASSERT_TRUE(show<std::uint16_t>(x->id, {0x4100, 0xc200}));
  ASSERT_TRUE(show<std::int64_t>(ids->id, {2, 0}));
  EXPECT_THAT(sums_->sums().at(w->id).squares, ElementsAre(9, 0, 6.25));
  // Expert 1 in its lower half.
  ASSERT_TRUE(show<std::uint16_t>(x->id, {0x4100, 0xc200}));
  EXPECT_FALSE(show<std::int64_t>(ids->id, {(std::int64_t{1} << 32) + 1, 0}));
}

TEST_F(ActivationSumsTest, WeightUsedTwiceSumsBothInputs) {
  const auto w = g_.weight("w", tensor_of(DType::kF32, {1, 1}));
  const auto x = computed(DType::kF32, {1, 1});
  const auto y = matmul(g_, w, x);
  ASSERT_TRUE(g_.output(matmul(g_, w, y), "z"));
  build();
  ASSERT_TRUE(show<float>(x->id, {3}));
  ASSERT_TRUE(show<float>(y->id, {4}));
  EXPECT_THAT(sums_->sums().at(w->id).squares, ElementsAre(25));
  EXPECT_THAT(sums_->sums().at(w->id).counts, ElementsAre(2));
}

TEST_F(ActivationSumsTest, IgnoresMatmulsOfInputsAndOfNonWeights) {
  const auto w = g_.weight("w", tensor_of(DType::kF32, {2, 3}));
  const auto x = g_.input("x", tensor_of(DType::kF32, {2, 3}));
  const auto y = computed(DType::kF32, {2, 3});
  ASSERT_TRUE(g_.output(matmul(g_, w, x), "of an input"));
  ASSERT_TRUE(g_.output(matmul(g_, y, x), "of no weight"));
  build();
  EXPECT_TRUE(sums_->nodes().empty());
  EXPECT_TRUE(sums_->sums().empty());
}

TEST_F(ActivationSumsTest, NonFiniteActivationsAreAnErrorThatNamesTheWeight) {
  const auto w = g_.weight("w", tensor_of(DType::kF32, {3, 5}));
  const auto e = g_.weight("e", tensor_of(DType::kF32, {1, 5, 3}), Role::kExpertWeight);
  const auto x = computed(DType::kF32, {3, 2});
  ASSERT_TRUE(g_.output(matmul(g_, w, x), "y"));
  const auto ids = computed(DType::kI32, {2, 1});
  const auto h = computed(DType::kF32, {1, 2, 1});
  ASSERT_TRUE(g_.output(matmul_id(g_, e, h, ids), "z"));
  build();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto& [bad, name] : {std::pair(kInfinity, "inf"), std::pair(-kInfinity, "-inf"),
                                  std::pair(std::numeric_limits<float>::quiet_NaN(), "nan"),
                                  std::pair(-std::numeric_limits<float>::quiet_NaN(), "nan")}) {
    Status status = show<float>(x->id, {1, 2, 3, 4, 5, bad});
    ASSERT_FALSE(status) << name;
    EXPECT_EQ(status.error().code(), ErrorCode::kUnsupported);
    EXPECT_EQ(status.error().message(),
              fmt::format("w (weight): the activation at column 2 is {}", name));
    ASSERT_TRUE(show<std::int32_t>(ids->id, {2, 0}));
    status = show<float>(h->id, {1, bad});
    ASSERT_FALSE(status) << name;
    EXPECT_THAT(status.error().message(), testing::StartsWith("e ("));
  }
  // As large as it gets is fine.
  constexpr float kMost = std::numeric_limits<float>::max();
  EXPECT_TRUE(show<float>(x->id, {kMost, -kMost, 0, 0, 0, 0}));
}

TEST_F(ActivationSumsTest, ExpertIdOutOfRangeIsAnError) {
  const auto w = g_.weight("w", tensor_of(DType::kF32, {1, 5, 3}), Role::kExpertWeight);
  const auto x = computed(DType::kF32, {1, 1, 1});
  const auto ids = computed(DType::kI32, {1, 1});
  ASSERT_TRUE(g_.output(matmul_id(g_, w, x, ids), "y"));
  build();
  for (const std::int32_t wrong : {-1, 3}) {
    ASSERT_TRUE(show<float>(x->id, {1}));
    EXPECT_FALSE(show<std::int32_t>(ids->id, {wrong}));
  }
}

}  // namespace
}  // namespace shunt::test::engine_activation_sums_test
