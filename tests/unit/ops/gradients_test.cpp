// gradients(): of whole graphs, and its refusals.
#include "shunt/gradients.h"

#include <array>

#include "unit/ops/gradients_llama.h"
#include "unit/ops/values.h"

namespace shunt::ops_gradients_test {
namespace {

using test::LlamaAttention;
using test::LlamaLoss;
using test::SmallLlama;
using testing::ElementsAre;
using testing::HasSubstr;

/// A graph with a loss, and leaves to differentiate it by.
struct Example {
  GraphBuilder g;
  std::vector<RefTensor> values;

  Value leaf(const Sizes& sizes, std::vector<double> data, DType type = DType::kF32) {
    const Value value =
        *g.cache("leaf " + std::to_string(values.size()), *make_tensor(type, shape_of(sizes)));
    values.resize(value.id + 1);
    values.back() = RefTensor(sizes);
    values.back().data = std::move(data);
    return value;
  }
  Value vector(std::vector<double> data) {
    const auto n = static_cast<std::int64_t>(data.size());
    return leaf({n, 1, 1, 1}, std::move(data));
  }

  Error error(Operand loss, const std::vector<Value>& parameters) {
    const auto found = gradients(g, loss, parameters);
    return found ? Error(ErrorCode::kInternal, "no error") : found.error();
  }
  std::vector<RefTensor> gradients_of(Operand loss, const std::vector<Value>& parameters) {
    const auto found = gradients(g, loss, parameters);
    EXPECT_TRUE(found) << found.error().message();
    if (!found) return {};
    for (const Value each : *found) EXPECT_TRUE(g.output(each, "gradient"));
    const auto graph = std::move(g).build();
    EXPECT_TRUE(graph);
    const auto all = reference_run(*graph, values);
    EXPECT_TRUE(all) << all.error().message();
    std::vector<RefTensor> results;
    for (const Value each : *found) results.push_back((*all)[each.id]);
    return results;
  }
};

TEST(GradientsOf, AProductAreTheOtherFactor) {
  Example e;
  const Value a = e.vector({1, 2, 3});
  const Value b = e.vector({5, 7, 11});
  const auto found = e.gradients_of(sum(e.g, mul(e.g, a, b)), {a, b});
  EXPECT_THAT(found[0].data, ElementsAre(5, 7, 11));
  EXPECT_THAT(found[1].data, ElementsAre(1, 2, 3));
}

TEST(GradientsOf, SeveralPathsAreAddedUp) {
  Example e;
  const Value x = e.vector({3});
  // x^2 * x + 4x: 3x^2 + 4.
  const auto cube = mul(e.g, mul(e.g, x, x), x);
  const auto found = e.gradients_of(sum(e.g, add(e.g, cube, scale(e.g, x, {.scale = 4}))), {x});
  EXPECT_THAT(found[0].data, ElementsAre(31));
}

TEST(GradientsOf, ParametersUnusedByTheLossAreZeros) {
  Example e;
  const Value x = e.vector({3});
  const Value other = e.leaf({2, 2, 1, 1}, {1, 2, 3, 4}, DType::kF16);
  const auto unused = sum(e.g, other);
  ASSERT_TRUE(unused);
  const auto found = e.gradients_of(sum(e.g, x), {x, other});
  EXPECT_EQ(found[1].sizes, (Sizes{2, 2, 1, 1}));
  EXPECT_THAT(found[1].data, ElementsAre(0, 0, 0, 0));
}

TEST(GradientsOf, IntermediateValuesAreTotalDerivatives) {
  Example e;
  const Value x = e.vector({3});
  const Value y = *sqr(e.g, x);
  const Value loss = *sum(e.g, mul(e.g, y, x));
  // y x by y, and by x: x^2 + 2x x.
  const auto found = e.gradients_of(loss, {y, x, loss});
  EXPECT_THAT(found[0].data, ElementsAre(3));
  EXPECT_THAT(found[1].data, ElementsAre(27));
  EXPECT_THAT(found[2].data, ElementsAre(1));
}

TEST(GradientsOf, EqualGradientsAreSeparateNodes) {
  Example e;
  const Value a = e.vector({1, 2});
  const Value b = e.vector({5, 7});
  const auto found = gradients(e.g, sum(e.g, add(e.g, a, b)), std::array{a, b, a});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_NE((*found)[0].id, (*found)[1].id);
  EXPECT_NE((*found)[0].id, (*found)[2].id);
}

TEST(GradientsOf, HalfPreciseParametersAreF32) {
  Example e;
  const Value w = e.leaf({2, 3, 1, 1}, {1, 2, 3, 4, 5, 6}, DType::kBF16);
  const Value x = e.vector({10, 20});
  const auto loss = sum(e.g, matmul(e.g, w, x));
  const auto found = gradients(e.g, loss, {&w, 1});
  ASSERT_TRUE(found);
  EXPECT_EQ(e.g.tensor((*found)[0]).dtype, DType::kF32);
}

TEST(GradientsOf, ParametersIgnoreOpsWithoutARuleOffTheirPath) {
  Example e;
  const Value x = e.vector({1, 2, 3, 4});
  const Value b = e.vector({1, 1, 1, 1});
  // argsort has no rule, and no path to b leads through it.
  const auto order = top_k(e.g, x, {4});
  const auto rows = get_rows(e.g, reshape(e.g, b, {1, 4}), order);
  const auto found = e.gradients_of(sum(e.g, rows), {b});
  ASSERT_FALSE(found.empty());
  EXPECT_THAT(found[0].data, ElementsAre(1, 1, 1, 1));
}

TEST(GradientsOf, ACacheFlowToTheWrittenRows) {
  Example e;
  const Value cache = e.leaf({2, 3, 1, 1}, {1, 2, 3, 4, 5, 6});
  const Value row = e.vector({10, 20});
  const Value second = e.leaf({1, 1, 1, 1}, {1}, DType::kI32);
  const auto written = set_rows(e.g, cache, row, second);
  const auto factors = e.leaf({2, 3, 1, 1}, {1, 2, 3, 4, 5, 6});
  const auto found = e.gradients_of(sum(e.g, mul(e.g, written, factors)), {row, cache});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(found[0].data, ElementsAre(3, 4));
  EXPECT_THAT(found[1].data, ElementsAre(1, 2, 0, 0, 5, 6));
}

/// Each weight's every element.
void expect_central_differences(LlamaAttention attention) {
  LlamaLoss llama = SmallLlama::build(attention);
  ASSERT_TRUE(llama.loss) << llama.loss.error().message();
  GraphBuilder copy = llama.g;
  ASSERT_TRUE(copy.output(llama.loss, "loss"));
  const Graph forward = *std::move(copy).build();
  const auto loss_at = [&] {
    return (*reference_run(forward, llama.leaves))[llama.loss->id].data[0];
  };

  const auto found = gradients(llama.g, llama.loss, llama.weights);
  ASSERT_TRUE(found) << found.error().message();
  for (const Value each : *found) ASSERT_TRUE(llama.g.output(each, "gradient"));
  const Graph backward = *std::move(llama.g).build();
  const auto all = reference_run(backward, llama.leaves);
  ASSERT_TRUE(all) << all.error().message();

  for (std::size_t w = 0; w < llama.weights.size(); ++w) {
    const NodeId weight = llama.weights[w].id;
    SCOPED_TRACE(backward.describe(weight));
    const RefTensor& gradient = (*all)[(*found)[w].id];
    ASSERT_EQ(gradient.sizes, llama.leaves[weight].sizes);
    double largest = 0;
    for (std::size_t i = 0; i < gradient.data.size(); ++i) {
      constexpr double kStep = 1e-5;
      double& element = llama.leaves[weight].data[i];
      const double before = element;
      element = before + kStep;
      const double above = loss_at();
      element = before - kStep;
      const double slope = (above - loss_at()) / (2 * kStep);
      element = before;
      EXPECT_NEAR(gradient.data[i], slope, 1e-8 + 1e-6 * std::abs(slope)) << i;
      largest = std::max(largest, std::abs(slope));
    }
    EXPECT_GT(largest, 1e-3) << "the loss hardly hangs on it";
  }
}

TEST(GradientsOf, ALlamaAgreeWithCentralDifferences) {
  expect_central_differences(LlamaAttention::kOfProducts);
}
TEST(GradientsOf, ALlamaWithAttentionAsOneOpAgreeWithCentralDifferences) {
  expect_central_differences(LlamaAttention::kOneOp);
}

/// Tokens in a number that each run says anew.
TEST(GradientsOf, WeightsUsedWithADynamicDimAreBuilt) {
  GraphBuilder g;
  const Dim tokens = *g.dynamic_dim("tokens", 6);
  const Value w = *g.weight("w", *make_tensor(DType::kF32, {4, 3}));
  const Value b = *g.weight("b", *make_tensor(DType::kF32, {3}));
  const Value x = *g.input("x", *make_tensor(DType::kF32, {4, tokens}));
  const Value labels = *g.input("labels", *make_tensor(DType::kF32, {3, tokens}));
  const auto y = rms_norm(g, silu(g, add(g, matmul(g, w, x), b)));
  const auto found = gradients(g, cross_entropy_loss(g, y, labels), std::array{w, b, x});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(g.tensor((*found)[0]).shape, (Shape{4, 3}));
  EXPECT_EQ(g.tensor((*found)[2]).shape, (Shape{4, tokens}));
}

TEST(GradientsReject, LossesThatAreNotAScalarF32) {
  Example e;
  const Value x = e.vector({1, 2});
  EXPECT_EQ(e.error(x, {x}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(e.error(x, {x}).message(),
            "gradients: the loss, leaf 0 (cache), is F32 [2], not a number of F32");
  const auto half = sum(e.g, e.leaf({2, 1, 1, 1}, {1, 2}, DType::kF16));
  EXPECT_THAT(e.error(half, {x}).message(), HasSubstr("is F16 [1], not a number of F32"));
  const Result<Value> failed = Error(ErrorCode::kNotFound, "was not there");
  EXPECT_EQ(e.error(failed, {x}).message(), "was not there");
}

TEST(GradientsReject, ParametersOfOtherTypesOrGraphs) {
  Example e;
  const Value x = e.vector({1, 2});
  const Value ids = e.leaf({1, 1, 1, 1}, {1}, DType::kI32);
  const auto loss = sum(e.g, x);
  EXPECT_EQ(e.error(loss, {x, ids}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(e.error(loss, {x, ids}).message(),
            "gradients: leaf 1 (cache) is I32 [1]; a parameter is F32, F16 or BF16");
  const Error unknown = e.error(loss, {Value{77}});
  EXPECT_EQ(unknown.code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(unknown.message(), "gradients: value #77 is not of this graph");
}

TEST(GradientsReject, AnOpWithoutARule) {
  Example e;
  const Value x = e.leaf({4, 4, 1, 1}, std::vector<double>(16, 1));
  const auto solved = solve_tri(e.g, x, e.leaf({2, 4, 1, 1}, std::vector<double>(8, 1)));
  ASSERT_TRUE(e.g.name(solved, "solved"));
  const std::size_t nodes = e.g.graph().size() + 1;
  const Error error = e.error(sum(e.g, solved), {x});
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_EQ(
      error.message(),
      "gradients: solved (solve_tri): solve_tri has no gradient rule, and the loss depends on "
      "a parameter through it");
  EXPECT_EQ(e.g.graph().size(), nodes) << "found out before anything is added";
}

TEST(GradientsReject, ASourceWithoutAGradientInItsRule) {
  Example e;
  const Value logits = e.vector({1, 2});
  const Value labels = e.vector({1, 0});
  const Error error = e.error(cross_entropy_loss(e.g, logits, labels), {labels});
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_EQ(error.message(),
            "gradients: #2 (cross_entropy_loss): its gradient rule has no gradient by labels");
}

TEST(GradientsReject, ReadingAWrittenCacheThroughItsOldValue) {
  Example e;
  const Value cache = e.leaf({2, 3, 1, 1}, {1, 2, 3, 4, 5, 6});
  const Value row = e.vector({10, 20});
  const Value second = e.leaf({1, 1, 1, 1}, {1}, DType::kI32);
  const auto written = set_rows(e.g, cache, row, second);
  ASSERT_TRUE(written);
  const Error error = e.error(sum(e.g, cache), {row});
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_EQ(
      error.message(),
      "gradients: #4 (sum) reads leaf 0 (cache), into which #3 (set_rows) has written values that "
      "depend on a parameter: for a gradient it must read the result of that node");
  // Nor a window of it: which rows are written is known only in a run.
  const auto third = view(e.g, cache, {0, 2, 0, 0}, {2, 1});
  EXPECT_THAT(e.error(sum(e.g, third), {row}).message(), HasSubstr("set_rows"));
}

TEST(GradientsReject, AnOverwrittenValueThatTheGradientNeeds) {
  Example e;
  const Value x = e.vector({1, 2});
  const Value factor = e.vector({3, 4});
  const auto loss = sum(e.g, mul(e.g, x, factor));
  ASSERT_TRUE(cpy(e.g, e.vector({0, 0}), factor));
  const Error error = e.error(loss, {x});
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_EQ(error.message(),
            "gradients: the gradient depends on the value of leaf 1 (cache), which #5 (cpy) "
            "overwrites (dup() keeps a copy)");
}

TEST(GradientsReject, NoWritesToOtherPartsOfAReadCache) {
  Example e;
  const Value cache = e.leaf({2, 2, 1, 1}, {1, 2, 3, 4});
  const auto first = view(e.g, cache, {}, {2, 1});
  const auto second = view(e.g, cache, {0, 1, 0, 0}, {2, 1});
  const Value x = e.vector({5, 6});
  const auto loss = sum(e.g, mul(e.g, x, first));
  ASSERT_TRUE(cpy(e.g, e.vector({0, 0}), second));
  const auto found = e.gradients_of(loss, {x});
  ASSERT_FALSE(found.empty());
  EXPECT_THAT(found[0].data, ElementsAre(1, 2));
}

TEST(GradientsReject, ADynamicDimWhereTheRuleNeedsANumber) {
  GraphBuilder g;
  const Dim tokens = *g.dynamic_dim("tokens", 6);
  const Value x = *g.input("x", *make_tensor(DType::kF32, {tokens, 2}));
  const auto found = gradients(g, sum(g, mean(g, x)), {&x, 1});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(
      found.error().message(),
      "gradients: #1 (mean): the length of a row is 6*, a dynamic dimension, but its gradient rule "
      "needs a number");
}

}  // namespace
}  // namespace shunt::ops_gradients_test
