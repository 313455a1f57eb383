// A copy that nodes of another device read keeps its memory until the last of them is computed. A
// node that is fused with a later one reads when that one is computed.
#include <gtest/gtest.h>

#include "graph/reference.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/test_device.h"

namespace shunt::test::fused_copies_test {
namespace {

class FusedCopies : public testing::TestWithParam<std::int64_t> {};

TEST_P(FusedCopies, KeepTheirMemoryUntilTheFusedNodeIsComputed) {
  constexpr std::int64_t kWidth = 256;
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {kWidth, GetParam()}));
  const auto gate = g.weight("gate", *make_tensor(DType::kF32, {kWidth, kWidth}));
  const auto up = g.weight("up", *make_tensor(DType::kF32, {kWidth, kWidth}));
  // The CPU computes both products and swiglu together.
  const auto scaled = scale(g, x, {.scale = 0.5F});
  ASSERT_TRUE(g.output(swiglu(g, matmul(g, gate, scaled), matmul(g, up, scaled)), "y"));
  auto built = std::move(g).build();
  ASSERT_TRUE(built) << built.error().message();
  const auto graph = std::make_shared<const Graph>(std::move(*built));

  std::map<NodeId, RefTensor> leaves;
  std::vector<RefTensor> values(graph->size());
  for (NodeId id = 0; id < graph->size(); ++id) {
    if (!graph->node(id).is_leaf()) continue;
    const auto sizes = actual_sizes(graph->node(id).result, graph->max_dynamic_dims());
    values[id] = make_values({.sizes = sizes}, id + 1);
    leaves[id] = values[id];
  }
  const auto expected = reference_run(*graph, values);
  ASSERT_TRUE(expected);

  const auto registry = Registry::create({});
  ASSERT_TRUE(registry);
  TestDevice scaling({.name = "a0", .ops = {"scale"}});
  Device* const devices[] = {&scaling, (*registry)->devices().back()};
  const auto run = GraphRun::create(graph, devices, leaves, {.by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  const auto y = (*run)->output(graph->outputs()[0]);
  ASSERT_TRUE(y);
  EXPECT_LT(nmse(*y, (*expected)[graph->outputs()[0]]), 1e-10);
}

INSTANTIATE_TEST_SUITE_P(Tokens, FusedCopies, testing::Values(1, 8, 64));

}  // namespace

}  // namespace shunt::test::fused_copies_test
