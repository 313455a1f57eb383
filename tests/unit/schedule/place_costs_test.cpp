// Placement by costs: nodes that move, nodes that stay whatever they cost, and predicted times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "schedule/place/by_costs.h"
#include "schedule/place/optimize/makespan.h"
#include "schedule/place/rules.h"
#include "shunt/costs.h"
#include "shunt/explain.h"
#include "shunt/plan.h"
#include "support/graph_run.h"
#include "unit/schedule/place_graphs.h"

namespace shunt::test::schedule_place_costs_test {
namespace {

using ::testing::HasSubstr;

/// Costs of devices as tests describe them: seconds a node, whatever its size, and a copy.
class Costs {
 public:
  Costs& node(const std::string& device, double seconds, std::string op = std::string(kAnyOp)) {
    model_.add(OpCost{
        .device = device, .description = kDescription, .op = std::move(op), .overhead = seconds});
    return *this;
  }
  Costs& copy(const std::string& device, double seconds) {
    for (bool to : {true, false}) model_.add(CopyCost{device, kDescription, to, {seconds, 0}});
    return *this;
  }
  const CostModel* get() const { return &model_; }

 private:
  const std::string kDescription = TestDevice({}).info().description;
  CostModel model_;
};

TEST(PlaceByCosts, MovesNodesWhereTheStepGetsShorter) {
  const Mlp mlp = make_mlp();
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  // test0 is ten times as fast, but a copy takes as long as 50 nodes of the CPU.
  Costs costs;
  costs.node("cpu0", 1e-3).node("test0", 1e-4).copy("test0", 50e-3);
  const auto placement = place(*mlp.graph, devices, {.costs = costs.get()});
  ASSERT_TRUE(placement);
  for (NodeId id : {mlp.norm, mlp.first, mlp.silu, mlp.second, mlp.sum}) {
    EXPECT_EQ(placement->decisions[id].device, 1);
  }
  EXPECT_NEAR(placement->predicted_seconds, 5e-3, 1e-12);
  const Decision& first = placement->decisions[mlp.first];
  EXPECT_EQ(first.rule, Rule::kCosts);
  // By the rules: norm, there, matmul, back, silu, there and x behind it, add, back.
  EXPECT_EQ(first.reason, "predicted step 5.00 ms instead of 252.20 ms");
  EXPECT_NEAR(first.seconds, 1e-3, 1e-12);
  ASSERT_EQ(first.rejected.size(), 1U);
  EXPECT_THAT(first.rejected[0].reason, HasSubstr("would take longer"));
  // The weight, which had no place yet, comes along.
  EXPECT_EQ(placement->decisions[mlp.w1].device, 1);
}

TEST(PlaceByCosts, RulesOnlyPredictsTimesAndMovesNothing) {
  const Mlp mlp = make_mlp();
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  Costs costs;
  costs.node("cpu0", 1e-3).node("test0", 1e-4).copy("test0", 50e-3);
  const auto rules = place(*mlp.graph, devices);
  const auto placement = place(*mlp.graph, devices, {.costs = costs.get(), .rules_only = true});
  ASSERT_TRUE(rules && placement);
  for (NodeId id = 0; id < mlp.graph->size(); ++id) {
    EXPECT_EQ(placement->decisions[id].device, rules->decisions[id].device);
    EXPECT_EQ(placement->decisions[id].rule, rules->decisions[id].rule);
  }
  // norm 1, copy, matmul 0.1, copy, silu 1, copy (x goes meanwhile), matmul and add 0.2, copy; x
  // waits for the link.
  EXPECT_NEAR(placement->predicted_seconds, 252.2e-3, 1e-9);
  EXPECT_NEAR(placement->decisions[mlp.first].seconds, 1e-4, 1e-12);
  EXPECT_NEAR(placement->decisions[mlp.sum].start, 202.1e-3, 1e-9);
  ASSERT_EQ(placement->predicted_copies.size(), 5U);

  // The same by a file that says the same.
  const auto file = read_placement(write_placement(*mlp.graph, *rules), "p");
  ASSERT_TRUE(file);
  const auto followed = place_by_file(*file, *mlp.graph, devices, {}, costs.get());
  ASSERT_TRUE(followed);
  EXPECT_NEAR(followed->predicted_seconds, 252.2e-3, 1e-9);
  EXPECT_NEAR(followed->decisions[mlp.norm].seconds, 1e-3, 1e-12);
  EXPECT_NEAR(followed->decisions[mlp.sum].start, 202.1e-3, 1e-9);
  ASSERT_EQ(followed->predicted_copies.size(), 5U);
  EXPECT_EQ(followed->predicted_copies.back().node, mlp.sum);
  EXPECT_NEAR(followed->predicted_copies.back().start, 202.2e-3, 1e-9);
  EXPECT_NEAR(followed->predicted_copies.back().end, 252.2e-3, 1e-9);
}

TEST(PlaceByCosts, DeviceThatReportsSlowLaunchesGetsNoNodes) {
  const Mlp mlp = make_mlp();
  TestDevice host = cpu();
  const CostModel estimates;
  // A launch takes a second, or next to nothing; an estimate of a CPU's is a microsecond.
  for (const double launch : {1.0, 1e-9}) {
    TestDevice test({.speed = DeviceSpeed{1e18, 1e18, launch, 1e-9, 1e18}});
    Device* devices[] = {&test, &host};
    const auto placement = place(*mlp.graph, devices, {.costs = &estimates});
    ASSERT_TRUE(placement);
    for (NodeId id : {mlp.norm, mlp.first, mlp.silu, mlp.second, mlp.sum}) {
      EXPECT_EQ(placement->decisions[id].device, launch == 1.0 ? 1 : 0);
    }
  }
}

TEST(PlaceByCosts, KeepsTheRulesPlacementWhereItIsBest) {
  const Mlp mlp = make_mlp();
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  Costs costs;
  costs.node("cpu0", 1e-3).node("test0", 1e-4).copy("test0", 1e-6);
  const auto rules = place(*mlp.graph, devices);
  const auto placement = place(*mlp.graph, devices, {.costs = costs.get()});
  ASSERT_TRUE(rules && placement);
  EXPECT_EQ(rules->predicted_seconds, 0);
  for (NodeId id = 0; id < mlp.graph->size(); ++id) {
    EXPECT_EQ(placement->decisions[id].device, rules->decisions[id].device);
    EXPECT_NE(placement->decisions[id].rule, Rule::kCosts);
    EXPECT_EQ(rules->decisions[id].seconds, 0);
  }
  // norm 1, copy, matmul 0.1, copy, silu 1, copy, matmul and add 0.2, copy.
  EXPECT_NEAR(placement->predicted_seconds, 2.3e-3 + 4e-6, 1e-12);
}

TEST(PlaceByCosts, PinsStayAtAnyCost) {
  const Mlp mlp = make_mlp();
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  Costs costs;
  costs.node("cpu0", 1e-3).node("test0", 1e-4).copy("test0", 50e-3);
  const Pin pins[] = {{"y", "test0"}};
  const auto placement = place(*mlp.graph, devices, {.pins = pins, .costs = costs.get()});
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[mlp.sum].device, 0);
  EXPECT_EQ(placement->decisions[mlp.sum].rule, Rule::kPinned);
  EXPECT_EQ(placement->decisions[mlp.first].device, 1);
}

/// rows are written into a cache, which is then read.
struct Cached {
  Cached() {
    GraphBuilder g;
    cache = g.cache("cache", *make_tensor(DType::kF32, {8, 16}))->id;
    const auto rows = g.input("rows", *make_tensor(DType::kF32, {8, 2}));
    const auto ids = g.input("ids", *make_tensor(DType::kI64, {2}));
    const auto set = set_rows(g, Value{cache}, rows, ids);
    const auto result = silu(g, set);
    EXPECT_TRUE(g.output(result, "y"));
    written = set->id;
    read = result->id;
    graph = std::make_unique<Graph>(std::move(*std::move(g).build()));
  }
  NodeId cache = 0, written = 0, read = 0;
  std::unique_ptr<Graph> graph;
};

TEST(PlaceByCosts, WritersStayOnTheDeviceOfTheirCache) {
  const Cached c;
  TestDevice host = cpu();
  TestDevice test({.name = "test0"});
  Device* devices[] = {&test, &host};
  Costs costs;
  costs.node("cpu0", 1e-3).node("test0", 10).copy("test0", 1e-6);
  // The cache is on test0, where everything is slow: only the reader can get away.
  const auto there = test.memory().allocate(8 * 16 * 4);
  const LeafMemory memory[] = {{c.cache, {there->get(), 0}}};
  auto placement = place(*c.graph, devices, {.memory = memory, .costs = costs.get()});
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[c.written].device, 0);
  EXPECT_EQ(placement->decisions[c.read].device, 1);
  // A cache without a place goes with its writer.
  placement = place(*c.graph, devices, {.costs = costs.get()});
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[c.written].device, 1);
  EXPECT_EQ(placement->decisions[c.cache].device, 1);
  EXPECT_EQ(placement->decisions[c.read].device, 1);
}

TEST(PlaceByCosts, AllWritersOfACacheShareADevice) {
  GraphBuilder g;
  const auto cache = g.cache("cache", *make_tensor(DType::kF32, {8, 16}));
  const auto rows = g.input("rows", *make_tensor(DType::kF32, {8, 2}));
  const auto ids = g.input("ids", *make_tensor(DType::kI64, {2}));
  const auto all = g.input("all", *make_tensor(DType::kF32, {8, 16}));
  const auto filled = cpy(g, all, cache);
  const auto written = set_rows(g, filled, rows, ids);
  ASSERT_TRUE(g.output(silu(g, written), "y"));
  const auto graph = std::move(g).build();
  ASSERT_TRUE(graph);
  TestDevice host = cpu();
  TestDevice test({.name = "test0"});
  Device* devices[] = {&test, &host};
  // Each would rather be where the other isn't, and copies cost nothing.
  Costs costs;
  costs.node("cpu0", 1e-3).node("cpu0", 1, "set_rows").node("test0", 1e-3).node("test0", 1, "cpy");
  costs.copy("test0", 0);
  const auto placement = place(*graph, devices, {.costs = costs.get()});
  ASSERT_TRUE(placement) << placement.error().message();
  const int device = placement->decisions[cache->id].device;
  EXPECT_EQ(placement->decisions[filled->id].device, device);
  EXPECT_EQ(placement->decisions[written->id].device, device);
}

TEST(PlaceByCosts, PredictsTimesOfASingleDevice) {
  const Mlp mlp = make_mlp();
  TestDevice host = cpu();
  Device* devices[] = {&host};
  Costs costs;
  costs.node("cpu0", 1e-3).node("cpu0", 3e-3, "matmul");
  const auto placement = place(*mlp.graph, devices, {.costs = costs.get()});
  ASSERT_TRUE(placement);
  EXPECT_NEAR(placement->predicted_seconds, 9e-3, 1e-12);
}

/// Whether it can be compiled with weights on the devices of the placement.
bool compiles(const std::shared_ptr<const Graph>& graph, const Placement& placement) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<LeafMemory> memory;
  for (NodeId id = 0; id < graph->size(); ++id) {
    const Node& node = graph->node(id);
    if (!node.is_leaf() || node.role == Role::kInput) continue;
    Device& device = *placement.devices[static_cast<std::size_t>(placement.decisions[id].device)];
    auto buffer = device.memory().allocate(static_cast<std::size_t>(byte_span(node.result)));
    if (!buffer) return false;
    memory.push_back({id, {buffer->get(), 0}});
    buffers.push_back(std::move(*buffer));
  }
  return compile(graph, placement, {.memory = memory, .observe = {}}).has_value();
}

TEST(PlaceByCosts, IsNeverWorseThanTheRulesAndCompiles) {
  const Mlp mlp = make_mlp();
  TestDevice host = cpu();
  TestDevice slow({.name = "slow0", .ops = {"matmul", "silu", "rms_norm"}});
  TestDevice test = accelerator();
  Device* devices[] = {&slow, &test, &host};
  std::mt19937_64 random(1);
  const auto draw = [&] { return std::pow(10.0, -3 * static_cast<double>(random() % 1000) / 1e3); };
  int moved = 0;
  for (int round = 0; round < 100; ++round) {
    Costs costs;
    for (const char* name : {"cpu0", "slow0", "test0"}) costs.node(name, draw()).copy(name, draw());
    const auto facts = PlaceFacts::create(*mlp.graph, devices, {});
    const auto pinned = pin_nodes(*facts, {});
    const auto rules = place_by_rules(*facts, *pinned, 32);
    ASSERT_TRUE(rules);
    const PlaceProblem problem = make_problem(*facts, *pinned, *rules, *costs.get());
    const auto placement = place(*mlp.graph, devices, {.costs = costs.get()});
    ASSERT_TRUE(placement);
    EXPECT_LE(placement->predicted_seconds, makespan(problem.problem, problem.start));
    for (const Decision& decision : placement->decisions) moved += decision.rule == Rule::kCosts;
    EXPECT_TRUE(compiles(mlp.graph, *placement));
  }
  EXPECT_GT(moved, 0);
}

}  // namespace
}  // namespace shunt::test::schedule_place_costs_test
