// Devices with a transfer queue: which work overlaps, and that nothing else changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "graph/reference.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "shunt/trace.h"
#include "support/all_orders.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/test_accelerator.h"
#include "support/test_device.h"

namespace shunt::test::schedule_queues_test {
namespace {

constexpr std::int64_t kElements = 16;

TestDeviceConfig cpu_config() {
  return {.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true};
}

/// y = x w0 w1 ..., with weights in host memory that are sent in every step: a segment for each.
struct StreamedGraph {
  explicit StreamedGraph(int weights) {
    GraphBuilder g;
    Result<Value> y = g.input("x", *make_tensor(DType::kF32, {kElements}));
    add_leaf(*y);
    for (int i = 0; i < weights; ++i) {
      const auto w = g.weight(fmt::format("w{}", i), *make_tensor(DType::kF32, {kElements}));
      add_leaf(*w);
      y = mul(g, y, w);
      EXPECT_TRUE(g.name(y, fmt::format("m{}", i)));
    }
    EXPECT_TRUE(g.output(y, "y"));
    graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  }
  void add_leaf(Value leaf) { leaves[leaf.id] = values(leaf.id + 1); }
  static RefTensor values(std::uint64_t seed) {
    return make_values({.sizes = {kElements, 1, 1, 1}}, seed);
  }
  RefTensor expected(const RefTensor& x) const {
    std::vector<RefTensor> by_node(graph->size());
    for (const auto& [id, value] : leaves) by_node[id] = id == 0 ? x : value;
    const auto all = reference_run(*graph, by_node);
    EXPECT_TRUE(all);
    return (*all)[graph->outputs()[0]];
  }
  Result<std::unique_ptr<GraphRun>> compile(std::span<Device* const> devices,
                                            int steps_in_flight = 1, Trace* trace = nullptr) const {
    return GraphRun::create(graph, devices, leaves,
                            {.steps_in_flight = steps_in_flight,
                             .by_ability = true,
                             .weights_on_host = true,
                             .trace = trace});
  }
  void check(const GraphRun& run, const RefTensor& x) const {
    const auto y = run.output(graph->outputs()[0]);
    ASSERT_TRUE(y) << y.error().message();
    EXPECT_LT(nmse(*y, expected(x)), 1e-12);
  }
  std::shared_ptr<const Graph> graph;
  std::map<NodeId, RefTensor> leaves;
};

/// Times of a step's actions on a device where a product takes 4 s and a copy 2 s, by name.
std::map<std::string, WorkTimes> times_of_a_step(bool transfer_queue, bool late_errors) {
  const StreamedGraph streamed(3);
  TestWorld world;
  TestDevice device({.name = "a0",
                     .world = &world,
                     .seconds_per_node = 4,
                     .seconds_per_byte = 2.0 / 64,
                     .late_errors = late_errors,
                     .transfer_queue = transfer_queue});
  TestDevice host(cpu_config());
  Device* devices[] = {&device, &host};
  const auto trace = *Trace::create({.clock = [&] { return world.host_now(); }});
  auto run = streamed.compile(devices, 1, trace.get());
  EXPECT_TRUE(run) << run.error().message();
  EXPECT_TRUE((*run)->plan().run());
  streamed.check(**run, streamed.leaves.at(0));
  std::map<std::string, WorkTimes> times;
  const auto actions = trace->actions();
  for (const TraceSpan& span : trace->spans()) {
    const TraceAction& action = actions[span.action];
    const bool written = action.kind == TraceKind::kWrite;
    EXPECT_EQ(action.stream, written && transfer_queue ? "a0 transfer" : "a0") << action.name;
    times[fmt::format("{} {}", to_string(action.kind), action.name)] = span.times;
  }
  return times;
}

class TwoQueues : public ::testing::TestWithParam<bool> {};

TEST_P(TwoQueues, NextWeightIsCopiedDuringCompute) {
  const auto one = times_of_a_step(false, GetParam());
  EXPECT_EQ(one.at("read y (mul)").end, 4 * 2 + 3 * 4 + 2);  // one after the other

  const auto two = times_of_a_step(true, GetParam());
  ASSERT_EQ(two.size(), one.size());
  // x and the first weight, then three products, then the result. All else overlaps.
  EXPECT_EQ(two.at("segment m0 (mul)").begin, 4);
  EXPECT_EQ(two.at("write w1 (weight)").begin, 4);
  EXPECT_EQ(two.at("write w1 (weight)").end, 6);
  EXPECT_EQ(two.at("segment m1 (mul)").begin, 8);
  EXPECT_LE(two.at("write w2 (weight)").end, 12);
  EXPECT_EQ(two.at("segment y (mul)").begin, 12);
  EXPECT_EQ(two.at("read y (mul)").end, 2 * 2 + 3 * 4 + 2);
}

/// y = silu(x w0) w1, where the CPU computes silu: the next weight is under way before that, as the
/// CPU blocks the thread that submits.
TEST_P(TwoQueues, NextWeightIsSentBeforeTheCpuComputes) {
  for (const bool transfer_queue : {false, true}) {
    for (const int steps_in_flight : {1, 2}) {
      StreamedGraph mixed(1);
      mixed.leaves.clear();
      GraphBuilder g;
      const auto x = g.input("x", *make_tensor(DType::kF32, {kElements}));
      const auto w0 = g.weight("w0", *make_tensor(DType::kF32, {kElements}));
      const auto w1 = g.weight("w1", *make_tensor(DType::kF32, {kElements}));
      for (const auto& leaf : {x, w0, w1}) mixed.add_leaf(*leaf);
      const auto s = silu(g, mul(g, x, w0));
      EXPECT_TRUE(g.name(s, "s"));
      EXPECT_TRUE(g.output(mul(g, s, w1), "y"));
      mixed.graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
      TestWorld world(7);
      TestDevice device({.name = "a0",
                         .ops = {"mul"},
                         .world = &world,
                         .late_errors = GetParam(),
                         .transfer_queue = transfer_queue});
      TestDevice host(cpu_config());
      Device* devices[] = {&device, &host};
      const auto trace = *Trace::create({.clock = [&] { return world.host_now(); }});
      auto run = mixed.compile(devices, steps_in_flight, trace.get());
      ASSERT_TRUE(run) << run.error().message();
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const RefTensor values = StreamedGraph::values(100 + seed);
        ASSERT_TRUE((*run)->set_inputs({{x->id, values}}));
        ASSERT_TRUE((*run)->plan().run());
        mixed.check(**run, values);
      }
      std::map<std::string, std::size_t> at;
      const auto actions = trace->actions();
      for (std::size_t i = 0; i < actions.size(); ++i) {
        at[fmt::format("{} {}", to_string(actions[i].kind), actions[i].name)] = i;
      }
      EXPECT_EQ(at.at("write w1 (weight)") < at.at("segment s (silu)"), transfer_queue);
      EXPECT_LT(at.at("write w1 (weight)"), at.at("segment y (mul)"));
      EXPECT_GT(at.at("write w1 (weight)"), at.at("write w0 (weight)") + 2)
          << "and a product, read";
      EXPECT_THAT(actions[at.at("segment y (mul)")].after,
                  ::testing::Contains(at.at("write w1 (weight)")));
    }
  }
}

/// y = silu(x x) in two steps, where the CPU computes silu. In a queue of copies the second x would
/// be behind the read of the first product, and would arrive after 10 s.
TEST_P(TwoQueues, InputsOfTheNextStepAreSentBeforeResultsAreRead) {
  StreamedGraph mixed(1);
  mixed.leaves.clear();
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {kElements}));
  mixed.add_leaf(*x);
  EXPECT_TRUE(g.output(silu(g, mul(g, x, x)), "y"));
  mixed.graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  TestWorld world;
  TestDevice device({.name = "a0",
                     .ops = {"mul"},
                     .world = &world,
                     .seconds_per_node = 4,
                     .seconds_per_byte = 2.0 / 64,
                     .late_errors = GetParam(),
                     .transfer_queue = true});
  TestDevice host(cpu_config());
  Device* devices[] = {&device, &host};
  const auto trace = *Trace::create({.clock = [&] { return world.host_now(); }});
  auto run = mixed.compile(devices, 2, trace.get());
  ASSERT_TRUE(run) << run.error().message();
  const std::array values = {StreamedGraph::values(100), StreamedGraph::values(101)};
  for (const RefTensor& value : values) {
    ASSERT_TRUE((*run)->set_inputs({{x->id, value}}));
    ASSERT_TRUE((*run)->plan().start());
  }
  for (std::uint64_t step = 0; step < values.size(); ++step) {
    ASSERT_TRUE((*run)->plan().wait(step));
    mixed.check(**run, values[step]);
  }
  std::map<std::pair<std::uint64_t, TraceKind>, WorkTimes> of_a0;
  const auto actions = trace->actions();
  for (const TraceSpan& span : trace->spans()) {
    const TraceAction& action = actions[span.action];
    if (action.stream.starts_with("a0")) of_a0[{span.step, action.kind}] = span.times;
  }
  EXPECT_EQ(of_a0.at({0, TraceKind::kSegment}).end, 2 + 4);
  EXPECT_EQ(of_a0.at({0, TraceKind::kRead}).end, 6 + 2);
  EXPECT_EQ(of_a0.at({1, TraceKind::kWrite}).begin, 2);
  EXPECT_EQ(of_a0.at({1, TraceKind::kSegment}).begin, 8);
  EXPECT_EQ(of_a0.at({1, TraceKind::kRead}).end, 8 + 4 + 2);
}

/// Streams in which values of a0 are read, by name, where the CPU computes all but products and
/// rows.
std::map<std::string, std::string> streams_of_reads(const StreamedGraph& mixed, bool late_errors,
                                                    bool by_ability) {
  TestWorld world;
  TestDevice device({.name = "a0",
                     .ops = {"mul", "set_rows"},
                     .world = &world,
                     .late_errors = late_errors,
                     .transfer_queue = true});
  TestDevice host(cpu_config());
  Device* devices[] = {&device, &host};
  const auto trace = *Trace::create({.clock = [&] { return world.host_now(); }});
  auto run = GraphRun::create(
      mixed.graph, devices, mixed.leaves,
      {.by_ability = by_ability,
       .trace = trace.get(),
       .weight_memory = [&](Device&, const Graph&, NodeId) { return &device.memory(); }});
  EXPECT_TRUE(run) << run.error().message();
  if (!run) return {};
  EXPECT_TRUE((*run)->plan().run());
  mixed.check(**run, mixed.leaves.at(0));
  std::map<std::string, std::string> streams;
  for (const TraceAction& action : trace->actions()) {
    if (action.kind == TraceKind::kRead) streams[action.name] = action.stream;
  }
  return streams;
}

/// y = silu(x w) + w. A weight can be read at any time.
TEST_P(TwoQueues, WeightsAreReadInTheTransferQueueAndResultsInCompute) {
  StreamedGraph mixed(1);
  mixed.leaves.clear();
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {kElements}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {kElements}));
  for (const auto& leaf : {x, w}) mixed.add_leaf(*leaf);
  const auto product = mul(g, x, w);
  EXPECT_TRUE(g.name(product, "product"));
  EXPECT_TRUE(g.output(add(g, silu(g, product), w), "y"));
  mixed.graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  EXPECT_EQ(
      streams_of_reads(mixed, GetParam(), false),
      (std::map<std::string, std::string>{{"product (mul)", "a0"}, {"w (weight)", "a0 transfer"}}));
}

/// y = silu(cache), where the device writes a row of the cache.
TEST_P(TwoQueues, CacheIsReadInTheQueueThatWritesIt) {
  StreamedGraph mixed(1);
  mixed.leaves.clear();
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {kElements}));
  const auto cache = g.cache("cache", *make_tensor(DType::kF32, {kElements, 2}));
  const auto row = g.input("row", *make_tensor(DType::kI64, {1}));
  mixed.add_leaf(*x);
  mixed.leaves[cache->id] = make_values({.sizes = {kElements, 2, 1, 1}}, 7);
  mixed.leaves[row->id] = RefTensor({1, 1, 1, 1});
  const auto kept = set_rows(g, cache, x, row);
  EXPECT_TRUE(g.name(kept, "kept"));
  EXPECT_TRUE(g.output(silu(g, kept), "y"));
  mixed.graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  EXPECT_EQ(streams_of_reads(mixed, GetParam(), true),
            (std::map<std::string, std::string>{{"kept (set_rows)", "a0"}}));
}

/// The first 1000 orders differ in their last choices, random ones in all of them.
TEST_P(TwoQueues, WeightIsNotSentIntoMemoryInUse) {
  const StreamedGraph streamed(4);
  const auto run_in = [&](TestWorld& world, int steps_in_flight) {
    TestDevice device(
        {.name = "a0", .world = &world, .late_errors = GetParam(), .transfer_queue = true});
    TestDevice host(cpu_config());
    Device* devices[] = {&device, &host};
    auto run = streamed.compile(devices, steps_in_flight);
    ASSERT_TRUE(run) << run.error().message();
    std::vector<std::pair<std::uint64_t, RefTensor>> started;
    for (int i = 0; i < steps_in_flight; ++i) {
      const RefTensor x = StreamedGraph::values(static_cast<std::uint64_t>(100 + i));
      ASSERT_TRUE((*run)->set_inputs({{0, x}}));
      started.emplace_back(*(*run)->plan().start(), x);
    }
    for (const auto& [step, x] : started) {
      ASSERT_TRUE((*run)->plan().wait(step));
      streamed.check(**run, x);
    }
  };
  for (const int steps_in_flight : {1, 2}) {
    std::size_t orders_run = 0;
    AllOrders orders;
    do {
      TestWorld world([&](std::size_t ready) { return orders.pick(ready); });
      run_in(world, steps_in_flight);
      ASSERT_FALSE(HasFailure()) << "order " << orders_run;
    } while (++orders_run < 1000 && orders.next());
    EXPECT_GE(orders_run, 8U);
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      TestWorld world(seed);
      run_in(world, steps_in_flight);
      ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
  }
}

TEST_P(TwoQueues, NeedMemoryForTwoWeightsAtATime) {
  const StreamedGraph streamed(4);
  std::map<bool, std::size_t> bytes;
  for (const bool transfer_queue : {false, true}) {
    TestWorld world;
    TestDevice device({.name = "a0",
                       .world = &world,
                       .late_errors = GetParam(),
                       .transfer_queue = transfer_queue});
    TestDevice host(cpu_config());
    Device* devices[] = {&device, &host};
    auto run = streamed.compile(devices);
    ASSERT_TRUE(run) << run.error().message();
    bytes[transfer_queue] = (*run)->plan().memory()[0].activations;
    EXPECT_EQ(device.allocated(), bytes[transfer_queue]);
  }
  EXPECT_EQ(bytes[true], bytes[false] + 64);
}

/// Each call of a step fails once: the step is lost, with that error, and the next one is right.
TEST_P(TwoQueues, FailureLosesOnlyItsStep) {
  const StreamedGraph streamed(3);
  const auto fail_each = [&](std::size_t TestFailures::*kind) {
    for (std::size_t n = 1; n < 100; ++n) {
      TestWorld world(n);
      TestDevice device(
          {.name = "a0", .world = &world, .late_errors = GetParam(), .transfer_queue = true});
      TestDevice host(cpu_config());
      Device* devices[] = {&device, &host};
      auto run = streamed.compile(devices, 2);
      EXPECT_TRUE(run) << run.error().message();
      TestFailures failures;
      failures.*kind = n;
      device.fail_at(failures);
      const Status status = (*run)->plan().run();
      const bool failed = device.has_failed();
      device.fail_at({});
      EXPECT_EQ(status.has_value(), !failed) << n;
      if (!status) {
        EXPECT_EQ(status.error().device(), "a0") << status.error().message();
        EXPECT_TRUE(status.error().vendor() && status.error().vendor()->code == 719);
        EXPECT_FALSE((*run)->output(streamed.graph->outputs()[0]));
      }
      EXPECT_TRUE((*run)->plan().run());
      streamed.check(**run, streamed.leaves.at(0));
      if (!failed) return n - 1;
    }
    return std::size_t{0};
  };
  EXPECT_EQ(fail_each(&TestFailures::launch), 3U);
  EXPECT_EQ(fail_each(&TestFailures::copy), 5U);  // x, three weights, and the result
}

TEST_P(TwoQueues, CancelledStepEndsBeforeTheNextNode) {
  const StreamedGraph streamed(4);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    TestWorld world(seed);
    TestDevice device(
        {.name = "a0", .world = &world, .late_errors = GetParam(), .transfer_queue = true});
    TestDevice host(cpu_config());
    Device* devices[] = {&device, &host};
    auto run = streamed.compile(devices, 2);
    ASSERT_TRUE(run) << run.error().message();
    std::atomic<bool> cancel = false;
    std::size_t launched = 0;
    device.on_launch = [&](NodeId) {
      if (++launched == 2) cancel = true;
    };
    const Status status = (*run)->plan().run(&cancel);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::kCancelled) << status.error().message();
    EXPECT_EQ(device.computed(), 1U);
    device.on_launch = nullptr;
    ASSERT_TRUE((*run)->plan().run());
    streamed.check(**run, streamed.leaves.at(0));
  }
}

INSTANTIATE_TEST_SUITE_P(Errors, TwoQueues, ::testing::Bool(),
                         [](const auto& late) { return late.param ? "Late" : "WithEvents"; });

TEST(TwoQueuesOfAnAccelerator, WithThreadsEveryStepIsRight) {
  const StreamedGraph streamed(5);
  TestAccelerator device({.name = "accel0"});
  TestDevice host(cpu_config());
  Device* devices[] = {&device, &host};
  auto run = streamed.compile(devices, 3);
  ASSERT_TRUE(run) << run.error().message();
  std::vector<std::pair<std::uint64_t, RefTensor>> started;
  const auto finish = [&] {
    const auto [step, x] = std::move(started.front());
    started.erase(started.begin());
    const Status status = (*run)->plan().wait(step);
    ASSERT_TRUE(status) << status.error().message();
    streamed.check(**run, x);
  };
  for (std::uint64_t i = 0; i < 30; ++i) {
    if (started.size() == 3) finish();
    const RefTensor x = StreamedGraph::values(100 + i);
    ASSERT_TRUE((*run)->set_inputs({{0, x}}));
    started.emplace_back(*(*run)->plan().start(), x);
  }
  while (!started.empty()) finish();
}

TEST(TwoQueuesOfAnAccelerator, WithThreadsALateErrorFailsItsStep) {
  const StreamedGraph streamed(3);
  TestAccelerator device({.name = "accel0"});
  TestDevice host(cpu_config());
  Device* devices[] = {&device, &host};
  auto run = streamed.compile(devices, 2);
  ASSERT_TRUE(run) << run.error().message();
  for (int at = 1; at <= 3; ++at) {
    std::atomic<int> launches = 0;
    device.on_launch = [&](NodeId) -> Status {
      if (++launches != at) return ok();
      return Error(ErrorCode::kDevice, "it overflowed").with_vendor({719, "as the test wanted it"});
    };
    const Status status = (*run)->plan().run();
    ASSERT_FALSE(status) << at;
    EXPECT_EQ(status.error().device(), "accel0");
    EXPECT_TRUE(status.error().vendor() && status.error().vendor()->code == 719);
    device.on_launch = nullptr;
    ASSERT_TRUE((*run)->plan().run());
    streamed.check(**run, streamed.leaves.at(0));
  }
}

TEST(TwoQueuesOfAnAccelerator, WithThreadsCancelEndsTheStep) {
  const StreamedGraph streamed(4);
  TestAccelerator device({.name = "accel0"});
  TestDevice host(cpu_config());
  Device* devices[] = {&device, &host};
  auto run = streamed.compile(devices, 2);
  ASSERT_TRUE(run) << run.error().message();
  std::atomic<bool> cancel = false;
  device.on_launch = [&](NodeId) {
    cancel = true;
    return ok();
  };
  const Status status = (*run)->plan().run(&cancel);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
  device.on_launch = nullptr;
  ASSERT_TRUE((*run)->plan().run());
  streamed.check(**run, streamed.leaves.at(0));
}

}  // namespace
}  // namespace shunt::test::schedule_queues_test
