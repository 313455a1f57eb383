// Numbers that training can't take, on the CPU: the run fails, and says where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test::training_faults_test {
namespace {

using ::testing::HasSubstr;

/// Runs a graph of leaves of ones, of which `number` is filled with each of `wrong`, then with 1.
void check(GraphBuilder& g, Value number, const std::string& op, const std::vector<double>& wrong) {
  auto registry = Registry::create({});
  ASSERT_TRUE(registry);
  const auto devices = (*registry)->select({});
  if (!devices || devices->empty()) GTEST_SKIP() << "there is no CPU backend in this build";
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  for (NodeId id = 0; id < graph->size(); ++id) {
    if (!graph->node(id).is_leaf()) continue;
    leaves[id] = RefTensor(max_sizes(graph->node(id).result.shape));
    for (double& x : leaves[id].data) x = 1;
  }
  auto run = GraphRun::create(graph, *devices, leaves);
  ASSERT_TRUE(run) << run.error().message();
  for (const double value : wrong) {
    leaves[number.id].data.back() = value;
    ASSERT_TRUE((*run)->set_inputs(leaves));
    const Status status = (*run)->plan().run();
    ASSERT_FALSE(status) << value;
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message(), HasSubstr(op));
  }
  leaves[number.id].data.back() = 1;
  ASSERT_TRUE((*run)->set_inputs(leaves));
  const Status status = (*run)->plan().run();
  EXPECT_TRUE(status) << status.error().message();
}

TEST(TrainingFaults, GetRowsBackFailsForAnIdOutOfRange) {
  GraphBuilder g;
  const auto dy = g.input("dy", *make_tensor(DType::kF32, {64, 3}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {3}));
  ASSERT_TRUE(g.output(get_rows_back(g, dy, ids, 2), "y"));
  check(g, *ids, "get_rows_back", {-1, 2, 1e9, -2147483648.0});
}

TEST(TrainingFaults, AdamwFailsForAStepNumberBelowOne) {
  GraphBuilder g;
  const auto tensor = *make_tensor(DType::kF32, {64, 3});
  const auto step = g.input("step", *make_tensor(DType::kI32, {1}));
  ASSERT_TRUE(opt_step_adamw(g, g.cache("w", tensor), g.input("gradient", tensor),
                             g.cache("m", tensor), g.cache("v", tensor),
                             g.input("rate", *make_tensor(DType::kF32, {1})), step));
  check(g, *step, "opt_step_adamw", {0, -1, -2147483648.0});
}

}  // namespace
}  // namespace shunt::test::training_faults_test
