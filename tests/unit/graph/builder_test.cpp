// Building graphs: the calls that are refused, and the messages that say so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shunt/ops.h"

namespace shunt::graph_builder_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Tensor f32(const Shape& shape) {
  return *make_tensor(DType::kF32, shape);
}

TEST(GraphBuilder, ErrorNamesOpOperandsAndShapes) {
  GraphBuilder g;
  const auto w = g.weight("blk.0.attn_q.weight", f32({64, 32}));
  const auto x = g.input("x", f32({63, 5}));
  const auto y = matmul(g, w, x);
  ASSERT_FALSE(y);
  EXPECT_THAT(y.error().message(),
              AllOf(HasSubstr("matmul"), HasSubstr("blk.0.attn_q.weight F32 [64, 32]"),
                    HasSubstr("x F32 [63, 5]")));
}

TEST(GraphBuilder, NestedCallsReturnTheFirstError) {
  GraphBuilder g;
  const auto w = g.weight("w", f32({64, 32}));
  const auto x = g.input("x", f32({63, 5}));
  const auto y = silu(g, add(g, matmul(g, w, x), x));
  ASSERT_FALSE(y);
  EXPECT_TRUE(y.error().message().starts_with("matmul(")) << y.error().message();
  EXPECT_FALSE(g.output(y, "y"));
}

TEST(GraphBuilder, RejectsDynamicDimsOfAnotherGraph) {
  GraphBuilder one, other;
  const auto tokens = one.dynamic_dim("tokens", 10);
  ASSERT_TRUE(tokens);
  EXPECT_TRUE(one.input("x", f32({4, *tokens})));
  EXPECT_FALSE(other.input("x", f32({4, *tokens})));
  const auto x = other.input("x", f32({4, 10}));
  EXPECT_FALSE(view(other, x, {0, 0, 0, 0}, {4, *tokens}));
  EXPECT_FALSE(one.dynamic_dim("negative", -1));
}

TEST(GraphBuilder, LimitsTheNumberOfDynamicDims) {
  GraphBuilder g;
  int made = 0;
  while (made < 100 && g.dynamic_dim("e", 1)) ++made;
  EXPECT_EQ(made, kMaxDynamicDims - 1);
}

TEST(GraphBuilder, RejectsWritesIntoWeightsOrInputs) {
  GraphBuilder g;
  const auto rows = g.input("rows", f32({8, 2}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {2}));
  const auto weight = g.weight("w", f32({8, 4}));
  const auto input = g.input("x", f32({8, 4}));
  EXPECT_THAT(set_rows(g, weight, rows, ids).error().message(),
              HasSubstr("which is of role weight"));
  EXPECT_THAT(set_rows(g, input, rows, ids).error().message(), HasSubstr("which is of role input"));
  // Nor through a view.
  EXPECT_FALSE(set_rows(g, reshape(g, weight, {8, 4}), rows, ids));
  EXPECT_TRUE(set_rows(g, g.cache("c", f32({8, 4})), rows, ids));
}

TEST(GraphBuilder, RejectsLeavesAndDuplicatesAsOutputs) {
  GraphBuilder g;
  const auto x = g.input("x", f32({8}));
  EXPECT_FALSE(g.output(x, "x"));
  const auto y = silu(g, x);
  EXPECT_TRUE(g.output(y, "y"));
  EXPECT_FALSE(g.output(y, "again"));
  EXPECT_FALSE(g.output(Value{99}, "nothing"));
  EXPECT_FALSE(g.weight("w", f32({8}), Role::kInput));
}

TEST(GraphBuilder, RejectsAGraphWithoutOutputs) {
  GraphBuilder g;
  const auto x = g.input("x", f32({8}));
  ASSERT_TRUE(silu(g, x));
  EXPECT_FALSE(std::move(g).build());
}

TEST(GraphBuilder, RejectsParametersOfAnotherType) {
  GraphBuilder g;
  const auto x = g.input("x", f32({4, 2}));
  ASSERT_TRUE(x);
  const NodeId sources[] = {x->id};
  struct Other {};
  const auto y = g.apply(softmax_op(), Params::of(Other()), sources);
  ASSERT_FALSE(y);
  EXPECT_EQ(y.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(y.error().message(),
              AllOf(HasSubstr("softmax"), HasSubstr("F32 [4, 2]"),
                    HasSubstr("parameters are of another type"), HasSubstr("scale=1")));
  EXPECT_FALSE(g.apply(softmax_op(), Params(), sources)) << "parameters are missing";
}

TEST(GraphBuilder, RejectsAMissingRequiredOperand) {
  GraphBuilder g;
  const auto x = g.input("x", f32({8}));
  const auto y = add(g, x, absent());
  ASSERT_FALSE(y);
  EXPECT_THAT(y.error().message(), HasSubstr("b is not given"));
  EXPECT_FALSE(silu(g, Value{12345}));
}

}  // namespace
}  // namespace shunt::graph_builder_test
