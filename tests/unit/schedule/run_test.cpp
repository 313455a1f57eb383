// Running plans: steps that overlap, observers, cancelling, and failure of every single call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cstring>

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <random>
#include <thread>

#include "graph/reference.h"
#include "schedule/plan/waits.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/test_device.h"

namespace shunt::test::schedule_run_test {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RefTensor normal(const Sizes& sizes, std::uint64_t seed) {
  return make_values({.sizes = sizes}, seed);
}

TestDeviceConfig cpu_config() {
  return {.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true};
}

/// A chain of nodes: `half` of silu, then as many of scale.
std::shared_ptr<const Graph> two_halves(int half) {
  GraphBuilder g;
  Result<Value> x = g.input("x", *make_tensor(DType::kF32, {16}));
  for (int i = 0; i < half; ++i) x = silu(g, x);
  for (int i = 0; i < half; ++i) x = scale(g, x, {.scale = 0.5F});
  EXPECT_TRUE(g.output(x, "y"));
  return std::make_shared<const Graph>(std::move(*std::move(g).build()));
}

RefTensor reference_of(const Graph& graph, const std::map<NodeId, RefTensor>& leaves, NodeId node) {
  std::vector<RefTensor> by_node(graph.size());
  for (const auto& [id, values] : leaves) by_node[id] = values;
  auto all = reference_run(graph, by_node);
  EXPECT_TRUE(all);
  return (*all)[node];
}

TEST(Waits, AreOnlyForTheLastConflictOnEachOtherStream) {
  const auto* const buffer = reinterpret_cast<const Buffer*>(16);
  const auto at = [&](std::size_t begin, std::size_t end) {
    return Region{buffer, begin, end, false};
  };
  const std::vector<Footprint> actions = {
      {0, {}, {at(0, 8)}},           // writes a
      {0, {}, {at(0, 4)}},           // writes a part of it again
      {1, {at(0, 8)}, {at(8, 16)}},  // reads a, writes b
      {2, {at(16, 24)}, {}},         // touches nothing of theirs
      {0, {at(8, 16)}, {at(0, 8)}},  // reads b, writes a
  };
  const auto waits = find_waits(actions);
  EXPECT_THAT(waits[0].same_step, IsEmpty());
  EXPECT_THAT(waits[2].same_step, ElementsAre(1));  // not 0: stream 0 is in order
  EXPECT_THAT(waits[3].same_step, IsEmpty());
  EXPECT_THAT(waits[4].same_step, ElementsAre(2));
  EXPECT_THAT(waits[0].step_before, ElementsAre(2));  // a is read there
  EXPECT_THAT(waits[2].step_before, ElementsAre(4));  // its b is read there
}

TEST(Waits, PerStepMemoryCausesNoWaitsBetweenSteps) {
  const auto* const buffer = reinterpret_cast<const Buffer*>(16);
  const Region own{buffer, 0, 8, true};
  const std::vector<Footprint> actions = {{0, {}, {own}}, {1, {own}, {}}};
  const auto waits = find_waits(actions);
  EXPECT_THAT(waits[1].same_step, ElementsAre(0));
  EXPECT_THAT(waits[0].step_before, IsEmpty());
}

TEST(Run, ComputesNodesWithoutSourcesOnAnyDevice) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {8}));
  const auto numbers = arange(g, {.start = 1, .stop = 9, .step = 1});
  const auto sum = add(g, add(g, x, numbers), fill(g, {8}, 0.5F));
  ASSERT_TRUE(g.output(sum, "sum"));
  ASSERT_TRUE(g.output(numbers, "numbers"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const std::map<NodeId, RefTensor> leaves = {{x->id, normal({8, 1, 1, 1}, 1)}};
  for (const std::set<std::string>& ops :
       {std::set<std::string>{"arange", "fill"}, {"add"}, {"arange", "add"}, {"fill"}, {}}) {
    for (const bool by_ability : {true, false}) {
      TestDevice host(cpu_config());
      TestDevice other({.name = "a0", .ops = ops});
      Device* devices[] = {&other, &host};
      auto run = GraphRun::create(graph, devices, leaves, {.by_ability = by_ability});
      ASSERT_TRUE(run) << run.error().message();
      const Status status = (*run)->plan().run();
      ASSERT_TRUE(status) << status.error().message();
      for (const NodeId id : graph->outputs()) {
        EXPECT_LT(nmse(*(*run)->output(id), reference_of(*graph, leaves, id)), 1e-12);
      }
    }
  }
}

/// Runs `steps` steps with new inputs each, as many at once as allowed; checks every result.
void run_steps(GraphRun& run, const std::shared_ptr<const Graph>& graph, NodeId x, int steps,
               int in_flight) {
  std::vector<std::pair<std::uint64_t, RefTensor>> started;
  const auto finish = [&] {
    const auto& [step, input] = started.front();
    const Status status = run.plan().wait(step);
    ASSERT_TRUE(status) << status.error().message();
    const NodeId y = graph->outputs()[0];
    EXPECT_LT(nmse(*run.output(y), reference_of(*graph, {{x, input}}, y)), 1e-12);
    started.erase(started.begin());
  };
  for (int i = 0; i < steps; ++i) {
    if (static_cast<int>(started.size()) == in_flight) finish();
    const RefTensor input =
        normal(max_sizes(graph->node(x).result.shape), static_cast<std::uint64_t>(i));
    ASSERT_TRUE(run.set_inputs({{x, input}}));
    const auto step = run.plan().start();
    ASSERT_TRUE(step);
    started.emplace_back(*step, input);
  }
  while (!started.empty()) finish();
}

double seconds_for(int in_flight, int steps) {
  TestWorld world;
  TestDevice host(cpu_config());
  TestDevice a({.name = "a0", .ops = {"silu"}, .world = &world, .seconds_per_node = 1});
  TestDevice b({.name = "b0", .ops = {"scale"}, .world = &world, .seconds_per_node = 1});
  Device* devices[] = {&a, &b, &host};
  const auto graph = two_halves(10);
  auto run = GraphRun::create(graph, devices, {{0, normal({16, 1, 1, 1}, 1)}},
                              {.steps_in_flight = in_flight, .by_ability = true});
  EXPECT_TRUE(run) << run.error().message();
  run_steps(**run, graph, 0, steps, in_flight);
  return world.now();
}

TEST(Pipelining, TwoDevicesWithHalfTheWorkEachAreNearlyTwiceAsFast) {
  const double one = seconds_for(1, 40);
  const double four = seconds_for(4, 40);
  EXPECT_GE(one, 40 * 20.0);
  EXPECT_GE(one / four, 1.8) << one << " s and " << four << " s";
}

TEST(Pipelining, StepsInFlightDefaultToFour) {
  const auto graph = two_halves(2);
  for (const int in_flight : {0, 1, 4}) {  // 0: the default
    TestWorld world;
    TestDevice host(cpu_config());
    TestDevice a({.name = "a0", .world = &world, .seconds_per_node = 1});
    Device* devices[] = {&a, &host};
    CompileOptions options;
    if (in_flight > 0) options.steps_in_flight = in_flight;
    auto plan = compile(graph, *place_by_ability(*graph, devices), options);
    ASSERT_TRUE(plan) << plan.error().message();
    const int expected = in_flight == 1 ? 1 : 4;
    EXPECT_EQ((*plan)->memory().back().inputs, static_cast<std::size_t>(expected) * 16 * 4);
    // Nothing is done before a call waits: the first to wait is a start() without a place for its
    // step.
    for (int step = 0; step < expected; ++step) {
      const auto input = (*plan)->input(Value{0});
      ASSERT_TRUE(input);
      write_tensor(normal({16, 1, 1, 1}, 1), graph->node(0).result, input->data());
      ASSERT_TRUE((*plan)->start());
      EXPECT_EQ(a.computed(), 0U);
    }
    ASSERT_TRUE((*plan)->start());
    EXPECT_GT(a.computed(), 0U);
  }
}

/// A random graph over ops that three devices share out, with a cache that every step writes.
std::shared_ptr<const Graph> random_graph(std::uint64_t seed, NodeId& x, NodeId& ids) {
  std::mt19937_64 random(seed);
  GraphBuilder g;
  const auto input = g.input("x", *make_tensor(DType::kF32, {8, 4}));
  const auto rows = g.input("ids", *make_tensor(DType::kI32, {4}));
  const auto cache = g.cache("cache", *make_tensor(DType::kF32, {8, 6}));
  x = input->id;
  ids = rows->id;
  std::vector<Result<Value>> values = {input};
  const auto any = [&]() -> const Result<Value>& { return values[random() % values.size()]; };
  for (int i = 0; i < 12; ++i) {
    switch (random() % 4) {
      case 0:
        values.push_back(silu(g, any()));
        break;
      case 1:
        values.push_back(scale(g, any(), {.scale = 0.5F}));
        break;
      case 2:
        values.push_back(add(g, any(), any()));
        break;
      default:
        values.push_back(mul(g, any(), any()));
        break;
    }
  }
  const auto written = set_rows(g, cache, values.back(), rows);
  const auto read = view(g, written, {0, 0, 0, 0}, {8, 4});
  EXPECT_TRUE(g.output(add(g, scale(g, read, {.scale = 2}), any()), "y"));
  return std::make_shared<const Graph>(std::move(*std::move(g).build()));
}

TEST(Pipelining, ExecutionOrderDoesNotChangeResults) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    NodeId x = 0, ids = 0;
    const auto graph = random_graph(seed, x, ids);
    const int in_flight = 1 + static_cast<int>(seed % 4);
    TestWorld world(seed);
    TestDevice host(cpu_config());
    TestDevice a(
        {.name = "a0", .ops = {"silu", "mul"}, .copies_directly = seed % 2 == 0, .world = &world});
    TestDevice b({.name = "b0",
                  .ops = {"scale", "add", "set_rows"},
                  .copies_directly = seed % 3 == 0,
                  .world = &world});
    Device* devices[] = {&a, &b, &host};
    RefTensor cache = normal({8, 6, 1, 1}, 99);
    RefTensor rows({4, 1, 1, 1});
    rows.data = {3, 0, 5, 2};
    const NodeId cache_id = 2;
    auto run = GraphRun::create(graph, devices,
                                {{x, normal({8, 4, 1, 1}, 0)}, {ids, rows}, {cache_id, cache}},
                                {.steps_in_flight = in_flight, .by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    struct Started {
      std::uint64_t step;
      RefTensor expected;
    };
    std::vector<Started> started;
    const NodeId y = graph->outputs()[0];
    const auto finish = [&] {
      const Status status = (*run)->plan().wait(started.front().step);
      ASSERT_TRUE(status) << status.error().message();
      EXPECT_LT(nmse(*(*run)->output(y), started.front().expected), 1e-12) << "seed " << seed;
      started.erase(started.begin());
    };
    for (std::uint64_t step = 0; step < 6; ++step) {
      if (static_cast<int>(started.size()) == in_flight) finish();
      const RefTensor input = normal({8, 4, 1, 1}, 100 * seed + step);
      ASSERT_TRUE((*run)->set_inputs({{x, input}, {ids, rows}}));
      const auto number = (*run)->plan().start();
      ASSERT_TRUE(number);
      // The steps before this one decide the content of the cache.
      std::vector<RefTensor> by_node(graph->size());
      by_node[x] = input;
      by_node[ids] = rows;
      by_node[cache_id] = cache;
      const auto all = reference_run(*graph, by_node);
      ASSERT_TRUE(all);
      cache = (*all)[cache_id];
      started.push_back({*number, (*all)[y]});
    }
    while (!started.empty()) finish();
    EXPECT_LT(nmse(*(*run)->leaf(cache_id), cache), 1e-12);
  }
}

TEST(Pipelining, InputMayBeOverwrittenOnceAStepHasStarted) {
  // Nothing runs before it is waited for: all reads of the input come after it was written over.
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {16}));
  const auto first = silu(g, x);
  ASSERT_TRUE(g.output(mul(g, scale(g, first, {.scale = 0.5F}), x), "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const NodeId y = graph->outputs()[0];
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    TestWorld world(seed);
    TestDevice a({.name = "a0", .ops = {"silu"}, .world = &world, .seconds_per_byte = 1});
    TestDevice b({.name = "b0", .ops = {"scale", "mul"}, .world = &world});
    TestDevice host(cpu_config());
    Device* devices[] = {&a, &b, &host};
    const int in_flight = 1 + static_cast<int>(seed % 4);
    auto run = GraphRun::create(graph, devices, {{x->id, normal({16, 1, 1, 1}, 0)}},
                                {.steps_in_flight = in_flight, .by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    for (std::uint64_t step = 0; step < 6; ++step) {
      const RefTensor input = normal({16, 1, 1, 1}, 100 * seed + step);
      ASSERT_TRUE((*run)->set_inputs({{x->id, input}}));
      const std::size_t before = b.computed();
      const auto number = (*run)->plan().start();
      ASSERT_TRUE(number);
      EXPECT_EQ(b.computed(), before);
      const auto next = (*run)->plan().input(*x);
      ASSERT_TRUE(next);
      EXPECT_EQ(b.computed(), before + (in_flight == 1 ? 2 : 0));  // one copy of inputs: it waits
      std::ranges::fill(*next, std::byte{0xff});                   // not a number
      const Status status = (*run)->plan().wait(*number);
      ASSERT_TRUE(status) << status.error().message();
      EXPECT_LT(nmse(*(*run)->output(y), reference_of(*graph, {{x->id, input}}, y)), 1e-12)
          << "seed " << seed << ", step " << step;
    }
  }
}

TEST(Pipelining, InputKeepsItsValuesUntilItIsOverwritten) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {2}));
  const auto z = g.input("z", *make_tensor(DType::kF32, {2}));
  const auto y = add(g, x, z);
  ASSERT_TRUE(g.output(y, "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  TestDevice host(cpu_config());
  Device* devices[] = {&host};
  for (const int in_flight : {1, 2, 4}) {
    auto placement = place(*graph, devices);
    ASSERT_TRUE(placement);
    const auto plan = compile(graph, std::move(*placement), {.steps_in_flight = in_flight});
    ASSERT_TRUE(plan) << plan.error().message();
    const auto fill = [&](const Result<Value>& leaf, std::size_t index, float value) {
      const auto bytes = (*plan)->input(*leaf);
      ASSERT_TRUE(bytes);
      std::memcpy(bytes->data() + index * sizeof(float), &value, sizeof(float));
    };
    const auto run = [&] {
      std::array<float, 2> values = {-1, -1};
      EXPECT_TRUE((*plan)->run());
      const auto bytes = (*plan)->output(*y);
      EXPECT_TRUE(bytes);
      if (bytes) std::memcpy(values.data(), bytes->data(), sizeof(values));
      return values;
    };
    using Sums = std::array<float, 2>;
    EXPECT_EQ(run(), (Sums{0, 0})) << "nothing has been filled";
    fill(x, 0, 1);
    fill(x, 1, 2);
    fill(z, 0, 10);
    fill(z, 1, 20);
    EXPECT_EQ(run(), (Sums{11, 22}));
    for (int step = 0; step < 5; ++step) EXPECT_EQ(run(), (Sums{11, 22}));
    fill(x, 1, 5);  // half of one
    for (int step = 0; step < 5; ++step) EXPECT_EQ(run(), (Sums{11, 25}));
    // A step that is under way keeps the values that it was started with.
    ASSERT_TRUE((*plan)->start());
    fill(z, 0, 30);
    EXPECT_EQ(run(), (Sums{31, 25}));
  }
}

TEST(Observer, SeesEveryNodeWhenItIsComputedAndMayStopTheRun) {
  const auto graph = two_halves(3);
  TestDevice host(cpu_config());
  TestDevice a({.name = "a0", .ops = {"silu"}});
  Device* devices[] = {&a, &host};
  const std::map<NodeId, RefTensor> leaves = {{0, normal({16, 1, 1, 1}, 1)}};
  auto placement = place_by_ability(*graph, devices);
  ASSERT_TRUE(placement);
  std::vector<NodeId> seen;
  std::size_t stop_at = 100;
  CompileOptions options;
  options.steps_in_flight = 1;
  for (NodeId id = 1; id < graph->size(); ++id) options.observer.nodes.push_back(id);
  options.observer.visit = [&](const Observed& observed) {
    seen.push_back(observed.node);
    const RefTensor got = read_tensor(observed.bytes.data(), observed.tensor, observed.sizes);
    EXPECT_LT(nmse(got, reference_of(*graph, leaves, observed.node)), 1e-12);
    return seen.size() < stop_at;
  };
  auto plan = compile(graph, *placement, options);
  ASSERT_TRUE(plan) << plan.error().message();
  const auto input = (*plan)->input(Value{0});
  write_tensor(leaves.at(0), graph->node(0).result, input->data());
  const Status status = (*plan)->run();
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5, 6));
  seen.clear();
  stop_at = 2;
  const std::size_t before = a.computed();
  const Status stopped = (*plan)->run();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(a.computed() - before, 2U);
  stop_at = 100;
  EXPECT_TRUE((*plan)->run());
}

TEST(Observer, SeesValuesTransferredBetweenAccelerators) {
  const auto graph = two_halves(2);
  TestDevice host(cpu_config());
  TestDevice a({.name = "a0", .ops = {"silu"}});
  TestDevice b({.name = "b0", .ops = {"scale"}});
  Device* devices[] = {&a, &b, &host};
  const std::map<NodeId, RefTensor> leaves = {{0, normal({16, 1, 1, 1}, 1)}};
  auto placement = place_by_ability(*graph, devices);
  ASSERT_TRUE(placement);
  std::vector<NodeId> seen;
  CompileOptions options;
  options.steps_in_flight = 1;
  options.observer.nodes = {2};  // the last on a0, read by the first on b0
  options.observer.visit = [&](const Observed& observed) {
    seen.push_back(observed.node);
    return true;
  };
  auto plan = compile(graph, *placement, options);
  ASSERT_TRUE(plan) << plan.error().message();
  write_tensor(leaves.at(0), graph->node(0).result, (*plan)->input(Value{0})->data());
  const Status status = (*plan)->run();
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_THAT(seen, ElementsAre(2));
  const NodeId y = graph->outputs()[0];
  const RefTensor got = read_tensor((*plan)->output(Value{y})->data(), graph->node(y).result,
                                    max_sizes(graph->node(y).result.shape));
  EXPECT_LT(nmse(got, reference_of(*graph, leaves, y)), 1e-12);
}

TEST(Observer, IsRejectedWithoutCallbackOrWithSeveralSteps) {
  const auto graph = two_halves(1);
  TestDevice host(cpu_config());
  Device* devices[] = {&host};
  const auto placement = place(*graph, devices);
  CompileOptions options;
  options.observer.nodes = {1};
  EXPECT_FALSE(compile(graph, *placement, options));  // nothing to call
  options.observer.visit = [](const Observed&) { return true; };
  EXPECT_TRUE(compile(graph, *placement, options));
  for (const int several : {2, 4}) {
    options.steps_in_flight = several;
    EXPECT_FALSE(compile(graph, *placement, options));
  }
  options.steps_in_flight = 1;
  options.observer.nodes = {0};  // a leaf
  EXPECT_FALSE(compile(graph, *placement, options));
  options.observer = {};
  for (int steps : {0, -1, 1000}) {
    options.steps_in_flight = steps;
    EXPECT_FALSE(compile(graph, *placement, options));
  }
}

TEST(Cancel, EndsARunWithinOneNode) {
  const auto graph = two_halves(10);
  for (bool asynchronous : {false, true}) {
    TestWorld world;
    TestDevice host(cpu_config());
    TestDevice a({.name = "a0", .ops = {"silu"}, .world = asynchronous ? &world : nullptr});
    Device* devices[] = {&a, &host};
    auto run =
        GraphRun::create(graph, devices, {{0, normal({16, 1, 1, 1}, 1)}}, {.by_ability = true});
    ASSERT_TRUE(run);
    std::atomic<bool> cancel{false};
    std::size_t launched = 0;
    a.on_launch = [&](NodeId) {
      if (++launched == 4) cancel = true;
    };
    const Status status = (*run)->plan().run(&cancel);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
    EXPECT_EQ(a.computed(), 3U);
    EXPECT_EQ(host.computed(), 0U);
    a.on_launch = nullptr;
    EXPECT_TRUE((*run)->plan().run());  // and the plan goes on
  }
}

TEST(Cancel, FromAnotherThreadFinishesTheCurrentNodeOnly) {
  const auto graph = two_halves(10);
  for (bool asynchronous : {false, true}) {
    std::atomic<bool> cancel{false};
    std::promise<void> fourth;
    std::size_t begun = 0;
    const auto in_a_node = [&](RefTensor&) {
      if (++begun != 4) return;
      fourth.set_value();
      cancel.wait(false);
    };
    TestWorld world;
    TestDevice host(cpu_config());
    TestDevice a({.name = "a0",
                  .ops = {"silu"},
                  .world = asynchronous ? &world : nullptr,
                  .wrong = {{"silu", in_a_node}}});
    Device* devices[] = {&a, &host};
    auto run =
        GraphRun::create(graph, devices, {{0, normal({16, 1, 1, 1}, 1)}}, {.by_ability = true});
    ASSERT_TRUE(run);
    std::thread other([&] {
      fourth.get_future().wait();
      cancel = true;
      cancel.notify_all();
    });
    const Status status = (*run)->plan().run(&cancel);
    if (begun < 4) fourth.set_value();  // the other thread must end whatever went wrong
    other.join();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
    EXPECT_EQ(begun, 4U);
    EXPECT_EQ(a.computed(), 4U);
    EXPECT_EQ(host.computed(), 0U);
    EXPECT_TRUE((*run)->plan().run());
  }
}

/// Lets the n-th call of a kind fail, for every n there is. Each time the error names the device
/// and the node, and the next run is right.
void fail_at_each(std::size_t TestFailures::*kind, bool asynchronous) {
  const auto graph = two_halves(3);
  const std::map<NodeId, RefTensor> leaves = {{0, normal({16, 1, 1, 1}, 1)}};
  TestWorld world;
  TestDevice host(cpu_config());
  TestDevice a({.name = "a0", .ops = {"silu"}, .world = asynchronous ? &world : nullptr});
  Device* devices[] = {&a, &host};
  auto run = GraphRun::create(graph, devices, leaves, {.by_ability = true});
  ASSERT_TRUE(run);
  const NodeId y = graph->outputs()[0];
  const RefTensor expected = reference_of(*graph, leaves, y);
  std::size_t failed = 0;
  for (std::size_t n = 1; n < 100; ++n) {
    TestFailures failures;
    failures.*kind = n;
    a.fail_at(failures);
    const Status status = (*run)->plan().run();
    a.fail_at({});
    if (status) break;
    ++failed;
    EXPECT_EQ(status.error().code(), ErrorCode::kDevice);
    EXPECT_THAT(status.error().message(), HasSubstr("a0"));
    EXPECT_THAT(status.error().message(),
                AnyOf(HasSubstr("#"), HasSubstr("copying x")));  // the node
    EXPECT_EQ(status.error().device(), "a0");
    EXPECT_THAT(status.error().node(), AnyOf(HasSubstr("#"), HasSubstr("x")));
    ASSERT_TRUE(status.error().vendor());
    EXPECT_EQ(status.error().vendor()->code, 719);
    ASSERT_TRUE((*run)->plan().run());
    EXPECT_LT(nmse(*(*run)->output(y), expected), 1e-12);
  }
  EXPECT_EQ(failed, kind == &TestFailures::launch ? 3U : 2U);  // 3 nodes; a copy in and one out
}

TEST(Failure, LaunchFailureLosesOnlyItsStep) {
  fail_at_each(&TestFailures::launch, false);
  fail_at_each(&TestFailures::launch, true);
}

TEST(Failure, CopyFailureLosesOnlyItsStep) {
  fail_at_each(&TestFailures::copy, false);
  fail_at_each(&TestFailures::copy, true);
}

/// Lets the n-th call of a kind fail while a plan is made.
void fail_at_each_while_compiling(std::size_t TestFailures::*kind, ErrorCode code,
                                  std::size_t calls) {
  const auto graph = two_halves(3);
  TestDevice host(cpu_config());
  TestDevice a({.name = "a0", .ops = {"silu"}});
  Device* devices[] = {&a, &host};
  std::size_t failed = 0;
  for (std::size_t n = 1; n < 100; ++n) {
    TestFailures failures;
    failures.*kind = n;
    a.fail_at(failures);
    const auto run = GraphRun::create(graph, devices, {{0, normal({16, 1, 1, 1}, 1)}},
                                      {.steps_in_flight = 3, .by_ability = true});
    a.fail_at({});
    if (run) break;
    ++failed;
    EXPECT_EQ(run.error().code(), code);
    EXPECT_EQ(run.error().device(), "a0");
    EXPECT_THAT(run.error().message(), HasSubstr("a0"));
    EXPECT_EQ(a.allocated(), 0U);
  }
  EXPECT_GE(failed, calls);
}

TEST(Failure, AllocationFailureWhileCompilingLeaksNothing) {
  fail_at_each_while_compiling(&TestFailures::allocation, ErrorCode::kOutOfMemory, 3);
}

TEST(Failure, PrepareBindOrStreamFailureWhileCompilingLeaksNothing) {
  fail_at_each_while_compiling(&TestFailures::prepare, ErrorCode::kDevice, 1);
  fail_at_each_while_compiling(&TestFailures::bind, ErrorCode::kDevice, 3);
  fail_at_each_while_compiling(&TestFailures::stream, ErrorCode::kDevice, 1);
}

TEST(Plan, WaitTakesTheNumberOfAStartedStep) {
  const auto graph = two_halves(2);
  TestDevice host(cpu_config());
  Device* devices[] = {&host};
  auto run =
      GraphRun::create(graph, devices, {{0, normal({16, 1, 1, 1}, 1)}}, {.steps_in_flight = 2});
  ASSERT_TRUE(run);
  EXPECT_FALSE((*run)->plan().wait(0));  // none was started
  const auto first = (*run)->plan().start();
  const auto second = (*run)->plan().start();
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  EXPECT_TRUE((*run)->plan().wait(*second));
  EXPECT_TRUE((*run)->plan().wait(*first));
  EXPECT_TRUE((*run)->plan().wait(*first));  // again is fine
  EXPECT_FALSE((*run)->plan().wait(*second + 1));
}

}  // namespace
}  // namespace shunt::test::schedule_run_test
