// Weights that are streamed: when, the bytes that cross, the memory it takes, and the effect of
// failures. Devices are made for the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/reference.h"
#include "schedule/plan/predict.h"
#include "shunt/costs.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/test_device.h"

namespace shunt::test::schedule_stream_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::int64_t kWidth = 64;
constexpr std::size_t kWeightBytes = kWidth * kWidth * 4;

/// y = w3 silu(w2 silu(w1 x)), of `rows` rows.
struct Chain {
  explicit Chain(std::int64_t rows, int length = 3) {
    GraphBuilder g;
    Result<Value> value = g.input("x", *make_tensor(DType::kF32, {kWidth, rows}));
    x = value->id;
    for (int i = 0; i < length; ++i) {
      if (i > 0) value = silu(g, value);
      const auto w = g.weight("w", *make_tensor(DType::kF32, {kWidth, kWidth}));
      value = matmul(g, w, value);
      weights.push_back(w->id);
      products.push_back(value->id);
    }
    EXPECT_TRUE(g.output(value, "y"));
    graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    for (NodeId id : weights) leaves[id] = make_values({.sizes = {kWidth, kWidth, 1, 1}}, id);
    leaves[x] = make_values({.sizes = {kWidth, rows, 1, 1}}, 1);
  }

  RefTensor expected(const RefTensor& input) const {
    std::vector<RefTensor> by_node(graph->size());
    for (const auto& [id, values] : leaves) by_node[id] = values;
    by_node[x] = input;
    const auto all = reference_run(*graph, by_node);
    EXPECT_TRUE(all);
    return (*all)[products.back()];
  }
  void expect_right(GraphRun& run) const {
    const Status status = run.plan().run();
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_LT(nmse(*run.output(products.back()), expected(leaves.at(x))), 1e-12);
  }

  std::shared_ptr<const Graph> graph;
  NodeId x = 0;
  std::vector<NodeId> weights;
  std::vector<NodeId> products;
  std::map<NodeId, RefTensor> leaves;
};

TestDeviceConfig cpu_config() {
  return {.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true};
}

/// A device that accepts streamed weights of products, and a CPU that has them.
struct Two {
  explicit Two(TestDeviceConfig config = {})
      : device([&] {
          config.wants = {"matmul"};
          return config;
        }()) {}
  Result<std::unique_ptr<GraphRun>> run(const Chain& chain, GraphRunOptions options = {}) {
    options.weights_on_host = true;
    return GraphRun::create(chain.graph, devices, chain.leaves, options);
  }
  TestDevice device;
  TestDevice host{cpu_config()};
  Device* devices[2] = {&device, &host};
};

/// The devices of the chain's products for `rows` rows.
std::vector<int> devices_of_products(std::int64_t rows, std::int64_t stream_rows) {
  const Chain chain(rows);
  Two two;
  const auto run = two.run(chain, {.stream_rows = stream_rows});
  EXPECT_TRUE(run) << run.error().message();
  chain.expect_right(**run);
  std::vector<int> found;
  for (NodeId id : chain.products) found.push_back((*run)->plan().placement().decisions[id].device);
  return found;
}

TEST(Stream, StreamsWeightsOnlyFromStreamRowsOn) {
  EXPECT_EQ(PlaceOptions{}.stream_rows, 32);
  EXPECT_THAT(devices_of_products(31, 32), Each(1));
  EXPECT_THAT(devices_of_products(32, 32), Each(0));
  EXPECT_THAT(devices_of_products(32, 33), Each(1));
  EXPECT_THAT(devices_of_products(1, 1), Each(0));
  EXPECT_THAT(devices_of_products(100, 0), Each(1));  // never
}

TEST(Stream, ReportsTheReason) {
  const Chain chain(32);
  Two two;
  const auto run = two.run(chain);
  ASSERT_TRUE(run);
  const Decision& decision = (*run)->plan().placement().decisions[chain.products[0]];
  EXPECT_EQ(decision.rule, Rule::kWeights);
  EXPECT_EQ(decision.reason,
            "its weight w (weight) is in host memory and is sent to test0, as 32 rows are at least "
            "32");
}

TEST(Stream, WeightStartsASegmentAndIsTransferredOncePerStep) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {kWidth, 32}));
  const auto v = g.weight("v", *make_tensor(DType::kF32, {kWidth, kWidth}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {kWidth, kWidth}));
  const auto before = silu(g, matmul(g, v, x));
  const auto first = matmul(g, w, before);
  const auto second = matmul(g, w, first);
  const auto seen_otherwise = reshape(g, reshape(g, w, {kWidth * kWidth}), {kWidth, kWidth});
  const auto third = matmul(g, seen_otherwise, second);
  ASSERT_TRUE(g.output(third, "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  for (NodeId id : {x->id, v->id, w->id}) {
    leaves[id] = make_values({.sizes = max_sizes(graph->node(id).result.shape)}, id);
  }
  Two two;
  const auto run = GraphRun::create(graph, two.devices, leaves, {.weights_on_host = true});
  ASSERT_TRUE(run) << run.error().message();
  const auto segments = (*run)->plan().segments();
  ASSERT_EQ(segments.size(), 2U);
  EXPECT_EQ(segments[0].nodes, (std::vector<NodeId>{before->id - 1, before->id}));
  EXPECT_EQ(segments[1].nodes, (std::vector<NodeId>{first->id, second->id, third->id}));
  ASSERT_EQ(segments[1].transfers.size(), 1U);
  EXPECT_EQ(segments[1].transfers[0].node, w->id);
  for (std::size_t step = 1; step <= 3; ++step) {
    const Status status = (*run)->plan().run();
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_EQ(two.device.received(), step * (2 * kWeightBytes + kWidth * 32 * 4));
  }
  std::vector<RefTensor> by_node(graph->size());
  for (const auto& [id, values] : leaves) by_node[id] = values;
  EXPECT_LT(nmse(*(*run)->output(third->id), (*reference_run(*graph, by_node))[third->id]), 1e-12);
}

TEST(Stream, StreamedWeightsShareTheirMemory) {
  const std::size_t rows = 32;
  const std::size_t result = kWidth * rows * 4;
  for (int steps : {1, 4}) {
    const Chain chain(static_cast<std::int64_t>(rows), 6);
    Two two;
    const auto run = two.run(chain, {.steps_in_flight = steps});
    ASSERT_TRUE(run) << run.error().message();
    const MemoryUse& use = (*run)->plan().memory()[0];
    // A weight, the values that it is multiplied with, and the product. Each step in flight has a
    // copy of the input and a result for itself.
    const std::size_t own = steps == 1 ? 0 : static_cast<std::size_t>(steps) * 2 * result;
    EXPECT_GE(use.activations, kWeightBytes + 2 * result);
    EXPECT_LE(use.activations, kWeightBytes + 2 * result + own);
    EXPECT_EQ(two.device.allocated(), use.activations);
    EXPECT_EQ((*run)->plan().memory()[1].staging, 0U);  // straight from the host
    chain.expect_right(**run);
  }
}

TEST(Stream, PredictedMemoryIsAllocated) {
  for (const int steps : {1, 3}) {
    const Chain chain(40);
    Two two;
    const auto run = two.run(chain, {.steps_in_flight = steps});
    ASSERT_TRUE(run);
    std::vector<LeafMemory> memory;
    const auto somewhere = host_memory().allocate(kWeightBytes);
    for (NodeId id : chain.weights) memory.push_back({id, {somewhere->get(), 0}});
    const auto placement = place(*chain.graph, two.devices, {.memory = memory});
    ASSERT_TRUE(placement);
    const auto predicted =
        predict_memory(chain.graph, *placement, {.memory = memory, .steps_in_flight = steps});
    ASSERT_TRUE(predicted) << predicted.error().message();
    for (std::size_t i = 0; i < 2; ++i) {
      const MemoryUse& use = (*run)->plan().memory()[i];
      EXPECT_EQ((*predicted)[i].activations, use.activations);
      EXPECT_EQ((*predicted)[i].inputs, use.inputs);
      EXPECT_EQ((*predicted)[i].staging, use.staging);
    }
    EXPECT_EQ(two.device.allocated(), (*predicted)[0].activations);
  }
}

/// Places the chain with weights in host memory.
Result<Placement> place_on_host(const Chain& chain, std::span<Device* const> devices,
                                PlaceOptions options = {}) {
  SHUNT_ASSIGN(const auto somewhere, host_memory().allocate(kWeightBytes));
  std::vector<LeafMemory> memory;
  for (NodeId id : chain.weights) memory.push_back({id, {somewhere.get(), 0}});
  options.memory = memory;
  return place(*chain.graph, devices, options);
}

void expect_no_room(const Chain& chain, const Placement& placement) {
  for (NodeId id : chain.products) {
    const Decision& decision = placement.decisions[id];
    EXPECT_EQ(decision.device, 1);
    ASSERT_EQ(decision.rejected.size(), 1U);
    EXPECT_EQ(decision.rejected[0].refusal, Refusal::kMemory);
    EXPECT_THAT(decision.rejected[0].reason,
                AllOf(HasSubstr("16384 bytes of weights"), HasSubstr("the limit is 16383 bytes")));
  }
}

TEST(Stream, WeightAboveTheStreamLimitStaysOnTheCpu) {
  const Chain chain(32);
  TestDeviceConfig small;
  small.memory = kWeightBytes - 1;
  TestDeviceConfig narrow;
  narrow.max_buffer = kWeightBytes - 1;
  for (const TestDeviceConfig& config : {small, narrow}) {
    Two two(config);
    const auto run = two.run(chain);
    ASSERT_TRUE(run) << run.error().message();
    expect_no_room(chain, (*run)->plan().placement());
    chain.expect_right(**run);
    EXPECT_EQ(two.device.computed(), 0U);
  }
  Two two;
  std::uint64_t limits[] = {kWeightBytes - 1, 0};
  auto placement = place_on_host(chain, two.devices, {.stream_bytes = limits});
  ASSERT_TRUE(placement);
  expect_no_room(chain, *placement);
  limits[0] = kWeightBytes;
  placement = place_on_host(chain, two.devices, {.stream_bytes = limits});
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->decisions[chain.products[0]].device, 0);
  // Limits of other devices than there are.
  EXPECT_FALSE(place_on_host(chain, two.devices, {.stream_bytes = std::span(limits, 1)}));
  // A node that the user pins there has no room either, and the error has that reason.
  const Chain one(32, 1);
  const Pin pins[] = {{"y", "test0"}};
  limits[0] = 0;
  placement = place_on_host(one, two.devices, {.pins = pins, .stream_bytes = limits});
  ASSERT_FALSE(placement);
  EXPECT_THAT(placement.error().message(), HasSubstr("16384 bytes of weights"));
}

TEST(Stream, CostsRespectTheStreamLimitAndDisabledStreaming) {
  const Chain chain(32);
  Two two;
  CostModel costs;
  for (const auto& [name, seconds] : {std::pair("cpu0", 1.0), std::pair("test0", 1e-3)}) {
    const std::string description = two.device.info().description;
    costs.add(OpCost{.device = name,
                     .description = description,
                     .op = std::string(kAnyOp),
                     .overhead = seconds});
    for (bool to : {true, false}) costs.add(CopyCost{name, description, to, {1e-6, 0}});
  }
  const auto device = [&](PlaceOptions options) {
    options.costs = &costs;
    const auto placement = place_on_host(chain, two.devices, options);
    EXPECT_TRUE(placement) << placement.error().message();
    return placement->decisions[chain.products[1]].device;
  };
  EXPECT_EQ(device({.stream_rows = 1000}), 0);  // costs override that rule
  const std::uint64_t limits[] = {kWeightBytes - 1, 0};
  EXPECT_EQ(device({.stream_rows = 1000, .stream_bytes = limits}), 1);
  EXPECT_EQ(device({.stream_rows = 0}), 1);
}

TEST(Stream, ExecutionOrderDoesNotChangeResults) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const int in_flight = 1 + static_cast<int>(seed % 4);
    const Chain chain(33);
    TestWorld world(seed);
    Two two({.world = &world});
    const auto run = two.run(chain, {.steps_in_flight = in_flight});
    ASSERT_TRUE(run) << run.error().message();
    std::vector<std::pair<std::uint64_t, RefTensor>> started;
    const auto finish = [&] {
      const Status status = (*run)->plan().wait(started.front().first);
      ASSERT_TRUE(status) << status.error().message();
      EXPECT_LT(nmse(*(*run)->output(chain.products.back()), started.front().second), 1e-12);
      started.erase(started.begin());
    };
    for (std::uint64_t step = 0; step < 6; ++step) {
      if (static_cast<int>(started.size()) == in_flight) finish();
      const RefTensor input = make_values({.sizes = {kWidth, 33, 1, 1}}, 100 * seed + step);
      ASSERT_TRUE((*run)->set_inputs({{chain.x, input}}));
      const auto number = (*run)->plan().start();
      ASSERT_TRUE(number);
      started.emplace_back(*number, chain.expected(input));
    }
    while (!started.empty()) finish();
  }
}

TEST(Stream, CopyFailureLosesOnlyItsStep) {
  for (const bool asynchronous : {false, true}) {
    const Chain chain(32);
    TestWorld world;
    Two two({.world = asynchronous ? &world : nullptr});
    const auto run = two.run(chain);
    ASSERT_TRUE(run);
    std::size_t failed = 0;
    for (std::size_t n = 1; n < 100; ++n) {
      two.device.fail_at({.copy = n});
      const Status status = (*run)->plan().run();
      two.device.fail_at({});
      if (status) break;
      ++failed;
      EXPECT_EQ(status.error().code(), ErrorCode::kDevice);
      EXPECT_THAT(status.error().message(), HasSubstr("copying "));
      chain.expect_right(**run);
    }
    EXPECT_EQ(failed, 5U);  // the input, three weights, the result
  }
}

TEST(Plan, TensorsWithoutBytesTakeNoMemory) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {8, 0}));
  const auto y = silu(g, silu(g, x));
  ASSERT_TRUE(g.output(y, "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  TestDevice device({.ops = {"silu"}});
  TestDevice host(cpu_config());
  Device* devices[] = {&device, &host};
  for (int steps : {1, 2}) {
    const auto run = GraphRun::create(graph, devices, {{x->id, RefTensor({8, 0, 1, 1})}},
                                      {.steps_in_flight = steps, .by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    const Status status = (*run)->plan().run();
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_EQ((*run)->plan().output(*y)->size(), 0U);
    EXPECT_EQ(device.allocated() + host.allocated(), 0U);
    for (const MemoryUse& use : (*run)->plan().memory()) {
      EXPECT_EQ(use.activations + use.inputs + use.staging, 0U);
    }
  }
}

}  // namespace
}  // namespace shunt::test::schedule_stream_test
