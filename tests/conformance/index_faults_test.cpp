// Numbers that point outside of a tensor, on the CPU: the run fails and says where, nothing outside
// is read or written, and the next run is as good as any.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/common/type_lists.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test::index_faults_test {
namespace {

using ::testing::HasSubstr;

RefTensor numbers(const Sizes& sizes, std::vector<double> data) {
  RefTensor tensor(sizes);
  tensor.data = std::move(data);
  return tensor;
}

/// Runs a graph whose node `ids` numbers rows or experts of which there are two: first with a
/// number that is not one of them, then without.
void check(GraphBuilder& g, Value ids) {
  auto registry = Registry::create({});
  ASSERT_TRUE(registry);
  const auto devices = (*registry)->select({});
  if (!devices || devices->empty()) GTEST_SKIP() << "there is no CPU backend in this build";
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  for (NodeId id = 0; id < graph->size(); ++id) {
    const Node& node = graph->node(id);
    if (node.is_leaf()) leaves[id] = make_values({.sizes = max_sizes(node.result.shape)}, id);
  }
  const Sizes sizes = max_sizes(graph->node(ids.id).result.shape);
  leaves[ids.id] = numbers(sizes, {1, 0, 1, 0});
  auto run = GraphRun::create(graph, *devices, leaves);
  ASSERT_TRUE(run) << run.error().message();
  for (const double wrong : {-1.0, 2.0, 1e9, 4294967296.0, -2147483648.0}) {
    leaves[ids.id] = numbers(sizes, {1, 0, wrong, 1});
    ASSERT_TRUE((*run)->set_inputs(leaves));
    const Status status = (*run)->plan().run();
    ASSERT_FALSE(status) << wrong;
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message(), HasSubstr("an index is out of range"));
  }
  leaves[ids.id] = numbers(sizes, {1, 0, 1, 1});
  ASSERT_TRUE((*run)->set_inputs(leaves));
  const Status status = (*run)->plan().run();
  EXPECT_TRUE(status) << status.error().message();
}

TEST(IndexFaults, GetRowsFailsForAnIdOutOfRange) {
  GraphBuilder g;
  const auto table = g.weight("table", *make_tensor(DType::kF32, {64, 2}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {4}));
  ASSERT_TRUE(g.output(get_rows(g, table, ids), "y"));
  check(g, *ids);
}

TEST(IndexFaults, SetRowsFailsForAnIdOutOfRange) {
  GraphBuilder g;
  const auto dst = g.cache("dst", *make_tensor(DType::kF16, {64, 2, 2}));
  const auto rows = g.input("rows", *make_tensor(DType::kF32, {64, 2, 2}));
  const auto ids = g.input("ids", *make_tensor(DType::kI64, {2, 2}));
  ASSERT_TRUE(g.output(set_rows(g, dst, rows, ids), "y"));
  check(g, *ids);
}

TEST(IndexFaults, MatmulIdFailsForAnIdOutOfRange) {
  for (const DType x_type : {DType::kF32, DType::kF16}) {
    for (const DType id_type : kIdTypes) {
      GraphBuilder g;
      const auto w = g.weight("w", *make_tensor(DType::kF32, {64, 40, 2}), Role::kExpertWeight);
      const auto x = g.input("x", *make_tensor(x_type, {64, 1, 2}));
      const auto ids = g.input("ids", *make_tensor(id_type, {2, 2}));
      ASSERT_TRUE(g.output(matmul_id(g, w, x, ids), "y"));
      check(g, *ids);
    }
  }
}

TEST(IndexFaults, AddIdFailsForAnIdOutOfRange) {
  for (const DType id_type : kIdTypes) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, 2, 2}));
    const auto b = g.weight("b", *make_tensor(DType::kF32, {64, 2}));
    const auto ids = g.input("ids", *make_tensor(id_type, {2, 2}));
    ASSERT_TRUE(g.output(add_id(g, x, b, ids), "y"));
    check(g, *ids);
  }
}

}  // namespace
}  // namespace shunt::test::index_faults_test
