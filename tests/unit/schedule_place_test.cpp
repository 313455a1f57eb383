// Placement: rules and reasons. Devices are made for the test; none of a backend is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "shunt/ops.h"
#include "shunt/plan.h"
#include "support/graph_run.h"
#include "support/test_device.h"

namespace shunt::test {
namespace {

using ::testing::HasSubstr;

/// y = x + w2 silu(w1 rms_norm(x)), with x [32, 4].
struct Mlp {
  std::shared_ptr<const Graph> graph;
  NodeId x = 0, w1 = 0, w2 = 0, norm = 0, first = 0, silu = 0, second = 0, sum = 0;
};

Mlp make_mlp() {
  Mlp m;
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {32, 4}));
  const auto w1 = g.weight("w1", *make_tensor(DType::kF32, {32, 48}));
  const auto w2 = g.weight("w2", *make_tensor(DType::kF32, {48, 32}));
  const auto norm = rms_norm(g, x);
  const auto first = matmul(g, w1, norm);
  const auto active = silu(g, first);
  const auto second = matmul(g, w2, active);
  const auto sum = add(g, x, second);
  EXPECT_TRUE(g.output(sum, "y"));
  m = {nullptr, x->id, w1->id, w2->id, norm->id, first->id, active->id, second->id, sum->id};
  m.graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  return m;
}

TestDevice cpu() {
  return TestDevice({.name = "cpu0", .kind = DeviceKind::kCpu, .ops = {}, .host_accessible = true});
}
TestDevice accelerator() {
  return TestDevice({.name = "test0", .ops = {"matmul", "add"}});
}

TEST(Place, NeedsACpuAtTheEnd) {
  const Mlp mlp = make_mlp();
  TestDevice test = accelerator();
  Device* devices[] = {&test};
  const auto placement = place(*mlp.graph, devices);
  ASSERT_FALSE(placement);
  EXPECT_THAT(placement.error().message(), HasSubstr("CPU"));
  EXPECT_FALSE(place(*mlp.graph, {}));
}

TEST(Place, EveryNodeHasADeviceAndAReason) {
  const Mlp mlp = make_mlp();
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  const auto placement = place(*mlp.graph, devices);
  ASSERT_TRUE(placement) << placement.error().message();
  for (const Decision& decision : placement->decisions) {
    EXPECT_GE(decision.device, 0);
    EXPECT_FALSE(decision.reason.empty());
  }
  const auto device_of = [&](NodeId id) { return placement->decisions[id].device; };
  const auto rule_of = [&](NodeId id) { return placement->decisions[id].rule; };
  EXPECT_EQ(device_of(mlp.x), 1);  // inputs start on the host
  EXPECT_EQ(rule_of(mlp.x), Rule::kInput);
  EXPECT_EQ(device_of(mlp.w1), 0);  // all that uses it runs there
  EXPECT_EQ(device_of(mlp.first), 0);
  EXPECT_EQ(rule_of(mlp.first), Rule::kWeights);
  EXPECT_EQ(device_of(mlp.sum), 0);  // joins the matmul it reads
  EXPECT_EQ(rule_of(mlp.sum), Rule::kNeighbour);
  EXPECT_EQ(device_of(mlp.silu), 1);  // test0 has no kernel for it
  EXPECT_EQ(rule_of(mlp.silu), Rule::kLastResort);
}

TEST(Place, SaysWhyABetterDeviceWasPassedOver) {
  const Mlp mlp = make_mlp();
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  const auto placement = place(*mlp.graph, devices);
  ASSERT_TRUE(placement);
  const auto& passed = placement->decisions[mlp.silu].passed_over;
  ASSERT_EQ(passed.size(), 1U);
  EXPECT_EQ(passed[0].device, 0);
  EXPECT_EQ(passed[0].refusal, Refusal::kOp);
  EXPECT_THAT(passed[0].reason, HasSubstr("no kernel for silu"));
}

TEST(Place, AnOpRunsWhereItsWeightAlreadyLies) {
  const Mlp mlp = make_mlp();
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  const auto w1 = host_memory().allocate(32 * 48 * 4);
  const LeafMemory memory[] = {{mlp.w1, {w1->get(), 0}}};
  const auto placement = place(*mlp.graph, devices, memory);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[mlp.w1].rule, Rule::kMemory);
  EXPECT_EQ(placement->decisions[mlp.first].device, 1);
  EXPECT_EQ(placement->decisions[mlp.second].device, 0);
}

TEST(Place, GivesTheSameTwice) {
  const Mlp mlp = make_mlp();
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  const auto a = place(*mlp.graph, devices);
  const auto b = place(*mlp.graph, devices);
  ASSERT_TRUE(a && b);
  for (std::size_t i = 0; i < a->decisions.size(); ++i) {
    EXPECT_EQ(a->decisions[i].device, b->decisions[i].device);
    EXPECT_EQ(a->decisions[i].reason, b->decisions[i].reason);
  }
}

TEST(Place, AWriterRunsWhereItsCacheIs) {
  GraphBuilder g;
  const auto cache = g.cache("cache", *make_tensor(DType::kF32, {8, 16}));
  const auto rows = g.input("rows", *make_tensor(DType::kF32, {8, 2}));
  const auto ids = g.input("ids", *make_tensor(DType::kI64, {2}));
  const auto written = set_rows(g, cache, rows, ids);
  ASSERT_TRUE(written);
  const auto graph = std::move(g).build();
  ASSERT_TRUE(graph);
  TestDevice host = cpu();
  TestDevice able({.name = "test0", .ops = {"set_rows"}});
  Device* devices[] = {&able, &host};
  // Free to choose: the better device can do it.
  auto placement = place(*graph, devices);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[written->id].device, 0);
  // The cache lies in host memory: the writer goes there.
  const auto memory = host_memory().allocate(8 * 16 * 4);
  const LeafMemory known[] = {{cache->id, {memory->get(), 0}}};
  placement = place(*graph, devices, known);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[written->id].device, 1);
  EXPECT_EQ(placement->decisions[written->id].rule, Rule::kMemory);
  // It lies where nobody can write: an error that says so.
  TestDevice unable({.name = "test0", .ops = {"matmul"}});
  Device* others[] = {&unable, &host};
  const auto there = unable.memory().allocate(8 * 16 * 4);
  const LeafMemory stuck[] = {{cache->id, {there->get(), 0}}};
  placement = place(*graph, others, stuck);
  ASSERT_FALSE(placement);
  EXPECT_THAT(placement.error().message(), HasSubstr("no kernel for set_rows"));
}

TEST(Place, ViewsFollowWhatTheyView) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {32, 4}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {32, 8}));
  const auto y = matmul(g, w, x);
  const auto view = reshape(g, y, {4, 8});
  const auto z = silu(g, view);
  ASSERT_TRUE(g.output(z, "z"));
  const auto graph = std::move(g).build();
  TestDevice host = cpu();
  TestDevice test = accelerator();
  Device* devices[] = {&test, &host};
  const auto placement = place(*graph, devices);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[view->id].device, 0);
  EXPECT_EQ(placement->decisions[view->id].rule, Rule::kView);
  EXPECT_EQ(placement->decisions[z->id].device, 1);
}

TEST(Place, AnOpThatNobodyCanComputeIsAnError) {
  const Mlp mlp = make_mlp();
  TestDevice host(
      {.name = "cpu0", .kind = DeviceKind::kCpu, .ops = {"matmul"}, .host_accessible = true});
  Device* devices[] = {&host};
  const auto placement = place(*mlp.graph, devices);
  ASSERT_FALSE(placement);
  EXPECT_EQ(placement.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(placement.error().message(), HasSubstr("no kernel for rms_norm"));
}

}  // namespace
}  // namespace shunt::test
