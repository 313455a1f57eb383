// Builder: graphs in expressions, and each misuse of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/list.h"
#include "shunt/shunt.h"
#include "support/shared.h"
#include "test_paths.h"

namespace shunt::test::api_builder_test {
namespace {

using ::testing::HasSubstr;

constexpr float kNumbers[] = {1, 2, 3, -1, 0, 1};

std::string message(const Status& status) {
  return status ? "" : status.error().message();
}

TEST(Builder, OpsAddTheSameNodesAsGraphBuilderFunctions) {
  Builder g;
  const Expr w = g.weight<float>("w", {3, 2}, kNumbers);
  const Expr x = g.input<float>("x", {3});
  const Expr y = softmax(silu(matmul(w, x)), Expr(), {.scale = 0.5F});
  ASSERT_TRUE(y) << y.error().message();
  g.output("y", y);
  EXPECT_TRUE(g.status()) << message(g.status());

  GraphBuilder expected;
  const auto w2 = expected.weight("w", *make_tensor(DType::kF32, {3, 2}));
  const auto x2 = expected.input("x", *make_tensor(DType::kF32, {3}));
  const auto y2 =
      softmax(expected, silu(expected, matmul(expected, w2, x2)), absent(), {.scale = 0.5F});
  ASSERT_TRUE(y2);
  const Result<Value>& value = y;
  EXPECT_EQ(value->id, y2->id);
}

TEST(Builder, FailedValueIsAnErrorEvenIfNoOutputNeedsIt) {
  Builder g;
  const Expr x = g.input<float>("x", {4});
  (void)matmul(x, g.input<float>("other", {5}));
  g.output("y", silu(x));
  EXPECT_THAT(message(g.status()), HasSubstr("matmul"));
}

TEST(Builder, RejectsWeightsWithTheWrongByteCount) {
  for (const std::size_t count : {0U, 5U, 7U}) {
    Builder g;
    const std::vector<float> numbers(count);
    const Expr w = g.weight<float>("w", {3, 2}, std::span<const float>(numbers));
    ASSERT_FALSE(w);
    for (const std::string& fact :
         {std::string("weight w"), std::string("F32 [3, 2] takes 24 bytes"),
          "not " + std::to_string(4 * count)})
      EXPECT_THAT(w.error().message(), HasSubstr(fact));
  }
}

TEST(Builder, RejectsInvalidShapes) {
  Builder g;
  EXPECT_FALSE(g.input<float>("x", {-1}));
  EXPECT_FALSE(g.input("q", DType::kQ8_0, {31}));
  EXPECT_FALSE(g.input<float>("x", {Dim(3, 5)})) << "there is no such dynamic dimension";
}

TEST(Builder, RejectsDuplicateNames) {
  Builder g;
  const Expr x = g.input<float>("x", {4});
  EXPECT_THAT(g.input<float>("x", {5}).error().message(), HasSubstr("two inputs \"x\""));
  Builder h;
  const Expr z = silu(h.input<float>("z", {4}));
  h.output("y", z).output("y", silu(z));
  EXPECT_THAT(message(h.status()), HasSubstr("two outputs \"y\""));
  Builder k;
  (void)k.dynamic_dim("n", 4);
  EXPECT_EQ(k.dynamic_dim("n", 8), Dim(0));
  EXPECT_THAT(message(k.status()), HasSubstr("two dynamic dimensions \"n\""));
}

TEST(Builder, RejectsNegativeDynamicDimensions) {
  Builder g;
  EXPECT_EQ(g.dynamic_dim("n", -1), Dim(0));
  EXPECT_THAT(message(g.status()), HasSubstr("negative"));
}

TEST(Builder, RejectsAnInputAsOutput) {
  Builder g;
  g.output("y", g.input<float>("x", {4}));
  EXPECT_FALSE(g.status());
}

TEST(Builder, RejectsOperandsOfDifferentBuilders) {
  Builder g;
  Builder h;
  const Expr a = g.input<float>("a", {4});
  const Expr b = h.input<float>("b", {4});
  const Expr sum = add(a, b);
  ASSERT_FALSE(sum);
  EXPECT_THAT(sum.error().message(), HasSubstr("different builders"));
  EXPECT_FALSE(g.status());
  h.output("y", silu(a));
  EXPECT_THAT(message(h.status()), HasSubstr("another builder"));
  const Expr own =
      custom({a, b}, {"f", Tensor{DType::kF32, {4}}, [](const CustomCall&) { return ok(); }});
  ASSERT_FALSE(own);
  EXPECT_THAT(own.error().message(), HasSubstr("different builders"));
}

TEST(Builder, RejectsOperandsWithoutABuilder) {
  const Expr alone = silu(Expr());
  ASSERT_FALSE(alone);
  EXPECT_THAT(alone.error().message(), HasSubstr("no operand"));
  EXPECT_FALSE(custom({}, {"f", Tensor{DType::kF32, {4}}, [](const CustomCall&) { return ok(); }}));
  Builder g;
  EXPECT_FALSE(add(g.input<float>("x", {4}), Expr())) << "not optional";
}

TEST(Builder, NamesValuesOfItsOwn) {
  Builder g;
  Builder h;
  const Expr x = silu(g.input<float>("x", {4}));
  const Expr other = silu(h.input<float>("x", {4}));
  g.name(x, "own");
  EXPECT_TRUE(g.status()) << message(g.status());
  g.name(other, "foreign");
  EXPECT_THAT(message(g.status()), HasSubstr("another builder"));
  Builder k;
  k.name(matmul(k.input<float>("a", {4}), k.input<float>("b", {5})), "failed");
  EXPECT_THAT(message(k.status()), HasSubstr("matmul"));
}

TEST(Builder, RecurrencesHaveOutputsAndStates) {
  Builder g;
  const Expr x = g.input<float>("x", {2, 5, 1});
  const Expr w = g.input<float>("w", {3, 2});
  const RecurrenceExpr both = ssm_conv(x, w, g.input<float>("states", {2, 2, 1}));
  ASSERT_TRUE(both.outputs) << both.outputs.error().message();
  ASSERT_TRUE(both.states) << both.states.error().message();
  g.output("y", both.outputs).output("s", both.states);
  EXPECT_TRUE(g.status()) << message(g.status());
  const RecurrenceExpr failed = ssm_conv(x, x, x);
  EXPECT_FALSE(failed.outputs);
  EXPECT_FALSE(failed.states);
}

/// Each op of the list has a function for values of a Builder.
TEST(Builder, HasAllOps) {
  const auto path = std::string(SHUNT_TEST_EXPRESSION_OPS);
  const auto file = read_file(path);
  for (const Op* op : all_ops()) {
    const std::string name(op->info().name);
    if (name == "custom") continue;
    EXPECT_TRUE(file.find(" " + name + "(") != file.npos) << name;
  }
}

TEST(Builder, AnEmptyFunctionIsAnError) {
  Builder g;
  EXPECT_FALSE(g.apply({}));
}

TEST(Builder, ValueMayOutliveItsBuilder) {
  Expr x;
  {
    Builder g;
    x = g.input<float>("x", {4});
  }
  EXPECT_TRUE(silu(x));
}

}  // namespace
}  // namespace shunt::test::api_builder_test
