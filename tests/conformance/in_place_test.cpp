// Results may take the place of tensors that die with them, but never of tensors that are still
// read.
#include <gtest/gtest.h>

#include "graph/reference.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test::in_place_test {
namespace {

/// Runs on the CPU and holds all outputs against the reference.
void check(GraphBuilder& g, double max_error = 1e-12) {
  auto registry = Registry::create({});
  ASSERT_TRUE(registry);
  const auto devices = (*registry)->select({});
  if (!devices || devices->empty()) GTEST_SKIP() << "there is no CPU backend in this build";
  auto built = std::move(g).build();
  ASSERT_TRUE(built);
  auto graph = std::make_shared<const Graph>(std::move(*built));
  std::map<NodeId, RefTensor> leaves;
  std::vector<RefTensor> by_node(graph->size());
  for (NodeId id = 0; id < graph->size(); ++id) {
    if (!graph->node(id).is_leaf()) continue;
    const Tensor& leaf = graph->node(id).result;
    leaves[id] = make_values({.dtype = leaf.dtype, .sizes = max_sizes(leaf.shape)}, id);
    by_node[id] = leaves[id];
  }
  auto run = GraphRun::create(graph, *devices, leaves);
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  const auto reference = reference_run(*graph, by_node);
  ASSERT_TRUE(reference);
  for (NodeId output : graph->outputs())
    EXPECT_LT(nmse(*(*run)->output(output), (*reference)[output]), max_error);
}

TEST(InPlace, NotIfTheSameNodeReadsTheSourceThroughAView) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 64}));
  const auto s = silu(g, x);
  ASSERT_TRUE(g.output(add(g, s, transpose(g, s)), "y"));
  check(g);
}

TEST(InPlace, NotIfAViewIsReadLater) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 8}));
  const auto s = silu(g, x);
  const auto half = view(g, s, {0, 2, 0, 0}, {64, 4});
  const auto twice = scale(g, s, {.scale = 2});
  ASSERT_TRUE(g.output(add(g, silu(g, half), view(g, twice, {0, 0, 0, 0}, {64, 4})), "y"));
  check(g);
}

TEST(InPlace, NotIfTheSourceIsAnOutput) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 8}));
  const auto s = silu(g, x);
  const auto t = scale(g, s, {.scale = 2});
  ASSERT_TRUE(g.output(s, "s"));
  ASSERT_TRUE(g.output(t, "t"));
  check(g);
}

TEST(InPlace, AlsoForF16Results) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF16, {300, 6, 4}));
  const auto b = g.input("b", *make_tensor(DType::kF32, {300}));
  const auto rows = l2_norm(g, rms_norm(g, silu(g, x)));
  const auto images = norm(g, group_norm(g, rows, {.groups = 2}));
  ASSERT_TRUE(g.output(scale(g, add(g, images, b), {.scale = 0.3F}), "y"));
  // Seven results, each off by half a unit of F16.
  check(g, 49 * 0x1p-22);
}

TEST(InPlace, ChainWithoutOtherReadersNeedsOneTensor) {
  auto registry = Registry::create({});
  const auto devices = (*registry)->select({});
  if (!devices || devices->empty()) GTEST_SKIP() << "there is no CPU backend in this build";
  GraphBuilder g;
  Result<Value> x = g.input("x", *make_tensor(DType::kF32, {1024}));
  for (int i = 0; i < 10; ++i) x = silu(g, x);
  ASSERT_TRUE(g.output(x, "y"));
  auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  auto run = GraphRun::create(graph, *devices, {{0, make_values({.sizes = {1024, 1, 1, 1}}, 1)}});
  ASSERT_TRUE(run);
  EXPECT_EQ((*run)->plan().memory().back().activations, 4096U);
}

}  // namespace
}  // namespace shunt::test::in_place_test
