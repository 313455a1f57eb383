// A graph with other element types of some leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shunt/graph.h"
#include "shunt/ops.h"
#include "support/graph_run.h"

namespace shunt::test::graph_with_types_test {
namespace {

using ::testing::HasSubstr;

struct Made {
  Graph graph;
  NodeId w = 0, scale = 0, seen = 0, y = 0;
};

/// All kinds of leaves, a dynamic dimension, views and a write.
Made make(DType dtype) {
  Made made;
  GraphBuilder g;
  const Dim tokens = *g.dynamic_dim("tokens", 4);
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, tokens}));
  const auto ids = g.input("ids", *make_tensor(DType::kI64, {tokens}));
  const auto w = g.weight("w", *make_tensor(dtype, {64, 96}), Role::kExpertWeight);
  const auto scale = g.weight("scale", *make_tensor(DType::kF32, {32}));
  const auto cache = g.cache("cache", *make_tensor(DType::kF16, {32, 8}));
  const auto seen = view(g, w, {0, 32, 0, 0}, {64, 32});
  const auto y = matmul(g, seen, x);
  EXPECT_TRUE(g.name(y, "product"));
  EXPECT_TRUE(set_rows(g, cache, y, ids));
  EXPECT_TRUE(g.output(mul(g, y, scale), "y"));
  EXPECT_TRUE(g.output(silu(g, y), "z"));
  made.w = w->id;
  made.scale = scale->id;
  made.seen = seen->id;
  made.y = y->id;
  made.graph = *std::move(g).build();
  return made;
}

TEST(WithTypes, EqualsAGraphBuiltWithThatType) {
  const Made q = make(DType::kQ8_0);
  const LeafType types[] = {{q.w, DType::kF16}};
  const auto typed = with_types(q.graph, types);
  ASSERT_TRUE(typed) << typed.error().message();
  EXPECT_EQ(dump(*typed), dump(make(DType::kF16).graph));
  EXPECT_NE(dump(*typed), dump(q.graph));
  EXPECT_EQ(typed->node(q.w).role, Role::kExpertWeight);
  EXPECT_EQ(typed->node(q.seen).offset, 32 * 64 * 2);
  EXPECT_EQ(typed->node(q.y).name, "product");
  EXPECT_EQ(typed->outputs().size(), 2U);
  EXPECT_EQ(dump(*with_types(q.graph, {})), dump(q.graph));
}

TEST(WithTypes, RejectsInvalidTypes) {
  const Made made = make(DType::kF32);
  const auto refusal = [&](NodeId leaf, DType dtype) {
    const LeafType types[] = {{leaf, dtype}};
    const auto typed = with_types(made.graph, types);
    EXPECT_FALSE(typed);
    return typed ? std::string() : typed.error().message();
  };
  EXPECT_THAT(refusal(made.y, DType::kF16), HasSubstr("is not a leaf"));
  EXPECT_THAT(refusal(4711, DType::kF16), HasSubstr("is not a leaf"));
  EXPECT_THAT(refusal(made.scale, DType::kI32), HasSubstr("mul"));  // of floats only
  GraphBuilder g;
  const auto w = g.weight("odd", *make_tensor(DType::kF32, {33, 2}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {33}));
  EXPECT_TRUE(g.output(matmul(g, w, x), "y"));
  const Graph odd = *std::move(g).build();
  const LeafType types[] = {{w->id, DType::kQ8_0}};
  const auto typed = with_types(odd, types);
  ASSERT_FALSE(typed);
  EXPECT_THAT(typed.error().message(), HasSubstr("odd"));
}

}  // namespace
}  // namespace shunt::test::graph_with_types_test
