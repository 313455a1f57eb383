// Data that crosses between devices, and by which way. Also devices whose memory is not plain:
// padded, aligned otherwise, pinned, overwritten in place, or without events to wait for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "graph/reference.h"
#include "schedule/plan/predict.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/test_device.h"

namespace shunt::test::schedule_transfer_test {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kElements = 16;
constexpr std::size_t kBytes = kElements * sizeof(float);

TestDevice cpu(std::size_t max_buffer = std::size_t{1} << 30) {
  return TestDevice({.name = "cpu0",
                     .kind = DeviceKind::kCpu,
                     .host_accessible = true,
                     .max_buffer = max_buffer});
}

RefTensor values(std::uint64_t seed) {
  return make_values({.sizes = {kElements, 1, 1, 1}}, seed);
}

/// y = scale(silu(x)): x goes to the device with silu, its result to the one with scale.
std::shared_ptr<const Graph> two_nodes() {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {kElements}));
  EXPECT_TRUE(g.output(scale(g, silu(g, x), {.scale = 0.5F}), "y"));
  return std::make_shared<const Graph>(std::move(*std::move(g).build()));
}

RefTensor expected_of(const Graph& graph, const std::map<NodeId, RefTensor>& leaves) {
  std::vector<RefTensor> by_node(graph.size());
  for (const auto& [id, leaf] : leaves) by_node[id] = leaf;
  const auto all = reference_run(graph, by_node);
  EXPECT_TRUE(all);
  return (*all)[graph.outputs()[0]];
}

/// Runs two_nodes() once, and checks the output.
std::unique_ptr<GraphRun> run_two_nodes(TestDevice& a, TestDevice& b, TestDevice& host) {
  const auto graph = two_nodes();
  const std::map<NodeId, RefTensor> leaves = {{0, values(1)}};
  Device* devices[] = {&a, &b, &host};
  auto run = GraphRun::create(graph, devices, leaves, {.by_ability = true});
  EXPECT_TRUE(run) << run.error().message();
  const Status status = (*run)->plan().run();
  EXPECT_TRUE(status) << status.error().message();
  EXPECT_LT(nmse(*(*run)->output(graph->outputs()[0]), expected_of(*graph, leaves)), 1e-12);
  return std::move(*run);
}

TEST(Transfer, DirectCopyUsesNoHostMemory) {
  for (const bool asynchronous : {false, true}) {
    for (const int offering : {0, 1, 2, 3}) {  // neither, a0, b0, both
      const bool directly = offering == 3;
      TestWorld world;
      TestWorld* const in = asynchronous ? &world : nullptr;
      TestDevice a(
          {.name = "a0", .ops = {"silu"}, .copies_directly = (offering & 1) != 0, .world = in});
      TestDevice b(
          {.name = "b0", .ops = {"scale"}, .copies_directly = (offering & 2) != 0, .world = in});
      TestDevice host = cpu();
      const auto run = run_two_nodes(a, b, host);
      EXPECT_EQ(a.sent(), directly ? 0 : kBytes);
      EXPECT_EQ(b.received(), directly ? 0 : kBytes);
      EXPECT_EQ(b.received_directly(), directly ? kBytes : 0);
      EXPECT_EQ(run->plan().memory().back().staging, directly ? 0 : kBytes);
      EXPECT_EQ(a.received(), kBytes);  // x, and the result comes back, whatever the way between
      EXPECT_EQ(b.sent(), kBytes);
    }
  }
}

TEST(Transfer, UsesPinnedMemoryOfTheDeviceThatHasIt) {
  for (const bool at_source : {false, true}) {
    for (const bool at_target : {false, true}) {
      TestWorld world;
      TestDevice a({.name = "a0", .ops = {"silu"}, .pins_memory = at_source, .world = &world});
      TestDevice b({.name = "b0", .ops = {"scale"}, .pins_memory = at_target, .world = &world});
      TestDevice host = cpu();
      {
        const auto run = run_two_nodes(a, b, host);
        const auto uses = run->plan().memory();
        // The input is in pinned memory of a0, which reads it, and the output in that of b0, which
        // makes it. Between them the device that gets the tensor comes first.
        EXPECT_EQ(uses[0].inputs, at_source ? kBytes : 0);
        EXPECT_EQ(uses[0].staging, at_source && !at_target ? kBytes : 0);
        EXPECT_EQ(uses[1].staging, at_target ? 2 * kBytes : 0);
        EXPECT_EQ(uses[2].inputs, at_source ? 0 : kBytes);
        EXPECT_EQ(uses[2].staging, at_source || at_target ? 0 : kBytes);
        EXPECT_EQ(uses[2].activations, at_target ? 0 : kBytes);
        EXPECT_EQ(a.pinned(), uses[0].inputs + uses[0].staging);
        EXPECT_EQ(a.moved_through_pinned(), a.pinned());
        EXPECT_EQ(uses[0].pinned, a.pinned());
        EXPECT_EQ(b.pinned(), uses[1].staging);
        EXPECT_EQ(b.moved_through_pinned(), b.pinned());
        EXPECT_EQ(uses[1].pinned, b.pinned());
        EXPECT_EQ(host.allocated(), uses[2].inputs + uses[2].staging + uses[2].activations);
        EXPECT_EQ(uses[2].pinned, 0U);
      }
      EXPECT_EQ(a.pinned() + b.pinned() + host.allocated(), 0U);
    }
  }
}

TEST(Transfer, EachUsesPinnedMemoryOfEitherOfItsTwoDevices) {
  GraphBuilder g;
  const auto small = g.input("small", *make_tensor(DType::kF32, {kElements}));
  const auto large = g.input("large", *make_tensor(DType::kF32, {4 * kElements}));
  ASSERT_TRUE(g.output(scale(g, silu(g, small), {.scale = 0.5F}), "y"));
  ASSERT_TRUE(g.output(relu(g, silu(g, large)), "z"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  TestDevice a({.name = "a0", .ops = {"silu"}});
  TestDevice b({.name = "b0", .ops = {"scale"}, .pins_memory = true});
  TestDevice c({.name = "c0", .ops = {"relu"}});
  TestDevice host = cpu();
  Device* devices[] = {&a, &b, &c, &host};
  const std::map<NodeId, RefTensor> leaves = {
      {small->id, values(1)}, {large->id, make_values({.sizes = {4 * kElements, 1, 1, 1}}, 2)}};
  auto run = GraphRun::create(graph, devices, leaves, {.by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  EXPECT_EQ(b.pinned(), 2 * kBytes);  // its input, and its output for the host
  EXPECT_EQ(b.moved_through_pinned(), 2 * kBytes);
  EXPECT_EQ(c.received(), 4 * kBytes);
  EXPECT_EQ((*run)->plan().memory()[1].staging, 2 * kBytes);
  EXPECT_EQ((*run)->plan().memory().back().staging, 4 * kBytes);
  EXPECT_LT(nmse(*(*run)->output(graph->outputs()[0]), expected_of(*graph, leaves)), 1e-12);
}

TEST(Transfer, FailedPinnedAllocationNamesItsDevice) {
  TestDevice a({.name = "a0", .ops = {"silu"}});
  TestDevice b({.name = "b0", .ops = {"scale"}, .pins_memory = true});
  TestDevice host = cpu();
  Device* devices[] = {&a, &b, &host};
  bool refused = false;
  for (std::size_t n = 1; n < 10; ++n) {
    b.fail_at({.allocation = n});
    const auto run = GraphRun::create(two_nodes(), devices, {{0, values(1)}}, {.by_ability = true});
    b.fail_at({});
    if (run) break;
    EXPECT_EQ(run.error().code(), ErrorCode::kOutOfMemory);
    EXPECT_EQ(run.error().device(), "b0");
    refused = refused || run.error().message().find("staging") != std::string::npos;
  }
  EXPECT_TRUE(refused);
}

/// Staging.UsesPinnedMemoryIfItsBuffersAreLargeEnough has smaller ones, too.
TEST(Transfer, PinnedMemoryOfExactlyTheNeededSizeIsUsed) {
  TestDevice a({.name = "a0", .ops = {"silu"}, .host_accessible = false});
  TestDevice b({.name = "b0", .ops = {"scale"}, .max_buffer = kBytes, .pins_memory = true});
  TestDevice host = cpu();
  EXPECT_EQ(run_two_nodes(a, b, host)->plan().memory()[1].staging, 2 * kBytes);
  EXPECT_EQ(b.moved_through_pinned(), 2 * kBytes);
}

TEST(Transfer, WithoutEventsTheHostWaits) {
  for (const bool events : {true, false}) {
    TestWorld world;
    TestDevice a({.name = "a0",
                  .ops = {"silu"},
                  .world = &world,
                  .seconds_per_node = 3,
                  .has_events = events});
    TestDevice b({.name = "b0", .ops = {"scale"}, .world = &world, .seconds_per_node = 1});
    TestDevice host = cpu();
    const auto graph = two_nodes();
    const std::map<NodeId, RefTensor> leaves = {{0, values(1)}};
    Device* devices[] = {&a, &b, &host};
    auto run = GraphRun::create(graph, devices, leaves, {.by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    const auto step = (*run)->plan().start();
    ASSERT_TRUE(step);
    // Before b0 may be given anything, a0 must be done.
    EXPECT_EQ(world.host_now(), events ? 0 : 3);
    EXPECT_EQ(a.computed(), events ? 0U : 1U);
    EXPECT_EQ(b.computed(), 0U);
    ASSERT_TRUE((*run)->plan().wait(*step));
    EXPECT_EQ(world.now(), 4);
    EXPECT_LT(nmse(*(*run)->output(graph->outputs()[0]), expected_of(*graph, leaves)), 1e-12);
  }
}

TEST(Padding, WeightBufferMustIncludeThePadding) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {kElements}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {kElements}));
  ASSERT_TRUE(g.output(mul(g, x, w), "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  TestDevice a({.name = "a0", .padding = 256});
  TestDevice host = cpu();
  Device* devices[] = {&a, &host};
  const auto compiled = [&](std::size_t bytes, std::size_t offset) -> Status {
    const auto buffer = a.memory().allocate(bytes);
    const LeafMemory memory[] = {{w->id, {buffer->get(), offset}}};
    auto placement = place(*graph, devices, {.memory = memory});
    if (!placement) return std::move(placement.error());
    auto plan = compile(graph, std::move(*placement), {.memory = memory});
    if (!plan) return std::move(plan.error());
    return ok();
  };
  EXPECT_TRUE(compiled(256, 0));
  EXPECT_TRUE(compiled(512, 256));
  for (const auto& [bytes, offset] :
       {std::pair<std::size_t, std::size_t>{64, 0}, {255, 0}, {511, 256}, {256, 256}}) {
    const Status status = compiled(bytes, offset);
    ASSERT_FALSE(status) << bytes << " at " << offset;
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message(), HasSubstr("256 bytes, which are not inside the buffer"));
  }
}

TEST(Alignment, EveryTensorHasTheAlignmentOfItsDevice) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {kElements}));
  const auto first = silu(g, x);
  const auto second = scale(g, first, {.scale = 0.5F});
  ASSERT_TRUE(g.output(add(g, first, second), "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const std::map<NodeId, RefTensor> leaves = {{0, values(1)}};
  for (const std::size_t alignment : {std::size_t{4}, std::size_t{64}, std::size_t{4096}}) {
    TestDevice a({.name = "a0", .alignment = alignment});
    TestDevice host = cpu();
    Device* devices[] = {&a, &host};
    auto run = GraphRun::create(graph, devices, leaves, {.by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    // At the end three results are there at the same time; the device refuses one that is not
    // aligned.
    EXPECT_GE(a.allocated(), 2 * std::max(alignment, kBytes) + kBytes);
    EXPECT_EQ(a.allocated(), (*run)->plan().memory()[0].activations);
    const Status status = (*run)->plan().run();
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_LT(nmse(*(*run)->output(graph->outputs()[0]), expected_of(*graph, leaves)), 1e-12);
  }
}

TEST(Inputs, AreInCpuBuffersUpToTheMaxBufferSize) {
  GraphBuilder g;
  Result<Value> sum = g.input("x", *make_tensor(DType::kF32, {kElements}));
  for (int i = 0; i < 4; ++i)
    sum = add(g, sum, g.input("more", *make_tensor(DType::kF32, {kElements})));
  ASSERT_TRUE(g.output(sum, "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  for (NodeId id = 0; id < graph->size(); ++id) {
    if (graph->node(id).is_leaf()) leaves[id] = values(id);
  }
  TestDevice host = cpu(2 * kBytes);
  Device* devices[] = {&host};
  auto run = GraphRun::create(graph, devices, leaves, {.steps_in_flight = 3});
  ASSERT_TRUE(run) << run.error().message();
  const MemoryUse& use = (*run)->plan().memory().back();
  EXPECT_EQ(use.inputs, 3 * 5 * kBytes);
  EXPECT_EQ(host.allocated(), use.inputs + use.activations);
  ASSERT_TRUE((*run)->plan().run());
  EXPECT_LT(nmse(*(*run)->output(graph->outputs()[0]), expected_of(*graph, leaves)), 1e-12);
}

TEST(InPlace, ReusesTheMemoryOfASourceWithoutFurtherReaders) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {kElements}));
  const auto kept = silu(g, x);
  Result<Value> y = kept;
  for (int i = 0; i < 3; ++i) y = scale(g, y, {.scale = 0.5F});
  ASSERT_TRUE(g.output(add(g, y, kept), "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const std::map<NodeId, RefTensor> leaves = {{0, values(1)}};
  for (const bool in_place : {false, true}) {
    TestDevice a(
        {.name = "a0",
         .in_place = in_place ? std::set<std::string>{"scale", "add"} : std::set<std::string>{}});
    TestDevice host = cpu();
    Device* devices[] = {&a, &host};
    auto run = GraphRun::create(graph, devices, leaves, {.by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    // `kept`, and a result; out of place, the one that it is made of beside that.
    EXPECT_EQ((*run)->plan().memory()[0].activations, (in_place ? 2 : 3) * kBytes);
    ASSERT_TRUE((*run)->plan().run());
    EXPECT_LT(nmse(*(*run)->output(graph->outputs()[0]), expected_of(*graph, leaves)), 1e-12);
  }
}

/// A random graph over ops that two devices share out: tensors of several sizes, some of them read
/// by both.
std::shared_ptr<const Graph> random_graph(std::mt19937_64& random) {
  GraphBuilder g;
  std::vector<std::vector<Result<Value>>> values(3);  // by size
  for (std::size_t size = 0; size < values.size(); ++size) {
    values[size].push_back(
        g.input("x", *make_tensor(DType::kF32, {static_cast<std::int64_t>(9 + 40 * size)})));
  }
  for (int i = 0; i < 24; ++i) {
    auto& same = values[random() % values.size()];
    const auto any = [&]() -> const Result<Value>& {  // mostly new ones, so that others die
      return same[same.size() - 1 - random() % std::min<std::size_t>(same.size(), 3)];
    };
    switch (random() % 4) {
      case 0:
        same.push_back(silu(g, any()));
        break;
      case 1:
        same.push_back(scale(g, any(), {.scale = 0.5F}));
        break;
      case 2:
        same.push_back(add(g, any(), any()));
        break;
      default:
        same.push_back(mul(g, any(), any()));
        break;
    }
  }
  for (const auto& same : values) EXPECT_TRUE(g.output(scale(g, same.back(), {.scale = 2}), "y"));
  return std::make_shared<const Graph>(std::move(*std::move(g).build()));
}

/// Anything that a device's memory and events may be.
TestDeviceConfig any_device(std::mt19937_64& random, TestWorld& world) {
  TestDeviceConfig config;
  const auto any = [&](std::size_t below) { return random() % below; };
  config.host_accessible = any(4) == 0;
  config.max_buffer = any(3) == 0 ? 8192 : std::size_t{1} << 30;
  config.alignment = std::size_t{4} << any(11);
  const std::size_t paddings[] = {1, 48, 256};
  config.padding = paddings[any(3)];
  config.scratch = any(2) * (1 + any(300));
  if (any(2) == 0) config.in_place = {"silu", "scale", "add", "mul"};
  config.pins_memory = any(2) == 0;
  config.copies_directly = any(2) == 0;
  if (any(4) > 0) config.world = &world;
  config.has_events = any(3) > 0;
  config.transfer_queue = any(2) == 0;
  return config;
}

TEST(AnyDevice, RandomDevicesAndOrdersGiveRightResultsAndMemoryUse) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    TestWorld world(seed);
    const auto graph = random_graph(random);
    TestDeviceConfig first = any_device(random, world);
    first.name = "a0";
    first.ops = {"silu", "mul"};
    TestDeviceConfig second = any_device(random, world);
    second.name = "b0";
    second.ops = {"scale", "add"};
    TestDevice a(first);
    TestDevice b(second);
    TestDeviceConfig last = any_device(random, world);
    last.name = "cpu0";
    last.kind = DeviceKind::kCpu;
    last.host_accessible = true;
    last.pins_memory = false;
    TestDevice host(last);
    Device* devices[] = {&a, &b, &host};
    const auto leaves_of = [&](std::uint64_t step) {
      std::map<NodeId, RefTensor> leaves;
      for (NodeId id = 0; id < graph->size(); ++id) {
        const Node& node = graph->node(id);
        if (node.is_leaf())
          leaves[id] = make_values({.sizes = max_sizes(node.result.shape)}, 100 * step + id);
      }
      return leaves;
    };
    const std::size_t in_flight = 1 + seed % 3;
    auto run =
        GraphRun::create(graph, devices, leaves_of(0),
                         {.steps_in_flight = static_cast<int>(in_flight), .by_ability = true});
    ASSERT_TRUE(run) << seed << ": " << run.error().message();

    const auto uses = (*run)->plan().memory();
    const TestDevice* const by_device[] = {&a, &b, &host};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t booked = uses[i].activations + uses[i].inputs + uses[i].staging;
      EXPECT_EQ(by_device[i]->allocated() + by_device[i]->pinned(), booked) << seed;
      EXPECT_EQ(by_device[i]->pinned(), uses[i].pinned) << seed;
    }
    auto placement = place_by_ability(*graph, devices);
    ASSERT_TRUE(placement);
    const auto predicted = predict_memory(graph, std::move(*placement),
                                          {.steps_in_flight = static_cast<int>(in_flight)});
    ASSERT_TRUE(predicted) << predicted.error().message();
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ((*predicted)[i].activations, uses[i].activations) << seed;
      EXPECT_EQ((*predicted)[i].inputs, uses[i].inputs) << seed;
      EXPECT_EQ((*predicted)[i].staging, uses[i].staging) << seed;
      EXPECT_EQ((*predicted)[i].pinned, uses[i].pinned) << seed;
    }

    std::vector<std::pair<std::uint64_t, std::uint64_t>> started;  // number, seed of its inputs
    const auto finish = [&] {
      const auto [number, inputs] = started.front();
      started.erase(started.begin());
      const Status status = (*run)->plan().wait(number);
      ASSERT_TRUE(status) << seed << ": " << status.error().message();
      std::vector<RefTensor> by_node(graph->size());
      for (const auto& [id, leaf] : leaves_of(inputs)) by_node[id] = leaf;
      const auto all = reference_run(*graph, by_node);
      ASSERT_TRUE(all);
      for (const NodeId y : graph->outputs())
        EXPECT_LT(nmse(*(*run)->output(y), (*all)[y]), 1e-9) << "seed " << seed;
    };
    for (std::uint64_t step = 0; step < 4; ++step) {
      if (started.size() == in_flight) finish();
      ASSERT_TRUE((*run)->set_inputs(leaves_of(step)));
      const auto number = (*run)->plan().start();
      ASSERT_TRUE(number) << number.error().message();
      started.emplace_back(*number, step);
    }
    while (!started.empty()) finish();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace shunt::test::schedule_transfer_test
