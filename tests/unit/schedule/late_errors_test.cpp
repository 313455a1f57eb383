// Plans on devices whose queues go on after a failed task: the step is lost, with the error of the
// task, and the next one is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/reference.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "support/all_orders.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/test_device.h"
#include "unit/schedule/ways.h"

namespace shunt::test::schedule_late_errors_test {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kWidth = 8;

/// Segments in turn on a0 (silu) and b0 (scale), one node each.
std::shared_ptr<const Graph> zigzag(int segments) {
  GraphBuilder g;
  Result<Value> x = g.input("x", *make_tensor(DType::kF32, {kWidth}));
  for (int i = 0; i < segments; ++i) {
    x = i % 2 == 0 ? silu(g, x) : scale(g, x, {.scale = 0.5F});
  }
  EXPECT_TRUE(g.output(x, "y"));
  return std::make_shared<const Graph>(std::move(*std::move(g).build()));
}

/// Each step adds its input to a cache on a0, and puts half the sum out, from b0.
std::shared_ptr<const Graph> running_sum() {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {kWidth, 1}));
  const auto sum = g.cache("sum", *make_tensor(DType::kF32, {kWidth, 1}));
  const auto written = set(g, sum, add(g, x, sum), {0, 0, 0, 0});
  EXPECT_TRUE(g.output(scale(g, written, {.scale = 0.5F}), "y"));
  return std::make_shared<const Graph>(std::move(*std::move(g).build()));
}

const Way kLateWays[] = {
    {.name = "Staged", .late = true},
    {.name = "Pinned", .pinned = true, .late = true},
    {.name = "Directly", .directly = true, .late = true},
    {.name = "TwoQueues", .late = true, .transfer_queue = true},
    {.name = "TwoQueuesDirectly", .directly = true, .late = true, .transfer_queue = true}};
const Way kWays[] = {kLateWays[0],
                     kLateWays[1],
                     kLateWays[2],
                     kLateWays[3],
                     kLateWays[4],
                     {.name = "EventsThatTell"},
                     {.name = "Synchronous", .asynchronous = false}};

struct Devices {
  Devices(TestWorld& world, const Way& way)
      : a(config_of(way, "a0", {"silu", "add", "set"}, world)),
        b(config_of(way, "b0", {"scale"}, world)),
        host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true}) {}
  TestDevice a;
  TestDevice b;
  TestDevice host;
  std::vector<Device*> all = {&a, &b, &host};
};

RefTensor input_of(const Graph& graph, std::uint64_t seed) {
  return make_values({.sizes = max_sizes(graph.node(0).result.shape)}, seed);
}

RefTensor right_output(const Graph& graph, const RefTensor& x) {
  std::vector<RefTensor> by_node(graph.size());
  by_node[0] = x;
  const auto all = reference_run(graph, by_node);
  EXPECT_TRUE(all);
  return (*all)[graph.outputs()[0]];
}

/// The kind of call that fails, and its number.
struct Fault {
  std::size_t TestFailures::*kind;
  std::size_t n;
  bool on_b;
};

/// One step that fails, where there are as many calls, and one after it. False if nothing failed.
bool fail_one_step(const std::shared_ptr<const Graph>& graph, TestWorld& world, const Way& way,
                   const Fault& fault) {
  Devices devices(world, way);
  TestDevice& faulty = fault.on_b ? devices.b : devices.a;
  auto run = GraphRun::create(graph, devices.all, {{0, input_of(*graph, 1)}}, {.by_ability = true});
  EXPECT_TRUE(run) << run.error().message();
  std::vector<NodeId> launched;
  faulty.on_launch = [&](NodeId id) { launched.push_back(id); };
  TestFailures failures;
  failures.*fault.kind = fault.n;
  faulty.fail_at(failures);
  const Status status = (*run)->plan().run();
  const bool failed = faulty.has_failed();
  faulty.fail_at({});
  const NodeId y = graph->outputs()[0];
  EXPECT_EQ(status.has_value(), !failed);
  EXPECT_EQ((*run)->output(y).has_value(), !failed);
  if (!status) {
    const Error& error = status.error();
    // A direct copy fails on the device that makes it, whichever of the two was at fault.
    if (!way.directly || fault.kind == &TestFailures::launch) {
      EXPECT_EQ(error.device(), fault.on_b ? "b0" : "a0") << error.message();
    }
    EXPECT_TRUE(error.vendor() && error.vendor()->code == 719) << error.message();
    if (fault.kind == &TestFailures::launch) {
      EXPECT_EQ(error.node(), graph->describe(launched[fault.n - 1])) << error.message();
    } else {
      EXPECT_THAT(error.message(), HasSubstr("copying"));
      EXPECT_THAT(error.message(), HasSubstr(error.node()));
      EXPECT_NE(error.node(), "");
    }
  }
  const RefTensor x = input_of(*graph, 2);
  EXPECT_TRUE((*run)->set_inputs({{0, x}}));
  const Status next = (*run)->plan().run();
  EXPECT_TRUE(next) << next.error().message();
  const auto got = (*run)->output(y);
  EXPECT_TRUE(got && nmse(*got, right_output(*graph, x)) < 1e-12);
  return failed;
}

class LateErrors : public testing::TestWithParam<Way> {};
class LateErrorsInAllOrders : public testing::TestWithParam<Way> {};

std::string name_of_way(const testing::TestParamInfo<Way>& test) {
  return test.param.name;
}

/// Every launch or copy of a device, in every order. Gives the number of failed calls.
std::size_t fail_each_in_all_orders(const Way& way, std::size_t TestFailures::*kind, bool on_b) {
  constexpr int kMostOrders = 10'000;
  const auto graph = zigzag(4);
  for (std::size_t n = 1; n < 20; ++n) {
    AllOrders orders;
    int count = 0;
    do {
      TestWorld world([&](std::size_t ready) { return orders.pick(ready); });
      if (!fail_one_step(graph, world, way, {kind, n, on_b})) return n - 1;
      if (testing::Test::HasFailure() || ++count > kMostOrders) {
        ADD_FAILURE() << "call " << n << ", order " << count;
        return 0;
      }
    } while (orders.next());
  }
  return 0;
}

TEST_P(LateErrorsInAllOrders, LaunchFailureLosesOnlyItsStep) {
  EXPECT_EQ(fail_each_in_all_orders(GetParam(), &TestFailures::launch, false), 2U);
  EXPECT_EQ(fail_each_in_all_orders(GetParam(), &TestFailures::launch, true), 2U);
}

/// Each device gives away two results and gets two tensors.
TEST_P(LateErrorsInAllOrders, CopyFailureLosesOnlyItsStep) {
  EXPECT_EQ(fail_each_in_all_orders(GetParam(), &TestFailures::copy, false), 4U);
  EXPECT_EQ(fail_each_in_all_orders(GetParam(), &TestFailures::copy, true), 4U);
}

INSTANTIATE_TEST_SUITE_P(Ways, LateErrorsInAllOrders, testing::ValuesIn(kLateWays), name_of_way);

/// Several steps are in flight and a call of one of them fails. Each step is right or has an
/// error.
TEST_P(LateErrors, EveryStepInFlightIsRightOrHasAnError) {
  const auto graph = zigzag(4);
  const NodeId y = graph->outputs()[0];
  std::size_t lost = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    TestWorld world(seed);
    Devices devices(world, GetParam());
    auto run = GraphRun::create(graph, devices.all, {{0, input_of(*graph, 0)}},
                                {.steps_in_flight = 3, .by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    TestFailures failures;
    (seed % 3 == 0 ? failures.copy : failures.launch) = 1 + seed % 7;
    (seed % 2 == 0 ? devices.a : devices.b).fail_at(failures);
    std::vector<std::pair<std::uint64_t, RefTensor>> started;
    const auto finish = [&] {
      const auto [step, x] = std::move(started.front());
      started.erase(started.begin());
      const Status status = (*run)->plan().wait(step);
      if (!status) {
        ++lost;
        EXPECT_TRUE(status.error().vendor() && status.error().vendor()->code == 719) << seed;
        return;
      }
      EXPECT_LT(nmse(*(*run)->output(y), right_output(*graph, x)), 1e-12) << "seed " << seed;
    };
    for (std::uint64_t step = 0; step < 9; ++step) {
      if (started.size() == 3) finish();
      const RefTensor x = input_of(*graph, 100 * seed + step);
      ASSERT_TRUE((*run)->set_inputs({{0, x}}));
      const auto number = (*run)->plan().start();
      ASSERT_TRUE(number);
      started.emplace_back(*number, x);
    }
    while (!started.empty()) finish();
    EXPECT_TRUE((*run)->plan().run());
  }
  EXPECT_GE(lost, 40U);
  EXPECT_LE(lost, 200U);
}

/// A lost step has not written its cache, so the steps behind it are lost as well.
TEST_P(LateErrors, StepsInFlightAfterALostStepAreLost) {
  const auto graph = running_sum();
  const NodeId y = graph->outputs()[0];
  const auto one = [] {
    RefTensor values({kWidth, 1, 1, 1});
    for (double& value : values.data) value = 1;
    return values;
  }();
  RefTensor none = one;
  for (double& value : none.data) value = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TestWorld world(seed);
    Devices devices(world, GetParam());
    auto run = GraphRun::create(graph, devices.all, {{0, one}, {1, none}},
                                {.steps_in_flight = 4, .by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    Plan& plan = (*run)->plan();
    ASSERT_TRUE(plan.run());
    EXPECT_DOUBLE_EQ((*run)->output(y)->at(0), 0.5);
    TestFailures failures;
    failures.launch = 1 + seed % 2;  // add or set of the next step
    devices.a.fail_at(failures);
    const auto first = plan.start();
    const auto second = plan.start();
    const auto third = plan.start();
    ASSERT_TRUE(first && second && third);
    EXPECT_FALSE(plan.wait(*first));
    EXPECT_FALSE((*run)->output(y));
    // The caller knows now: a step that starts from here on finds the cache as it is.
    const auto fourth = plan.start();
    ASSERT_TRUE(fourth);
    for (const auto& step : {second, third}) {
      const Status status = plan.wait(*step);
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().device(), "a0");
      EXPECT_TRUE(status.error().vendor() && status.error().vendor()->code == 719);
      EXPECT_FALSE((*run)->output(y));
    }
    EXPECT_TRUE(plan.wait(*fourth));
    EXPECT_TRUE((*run)->output(y));
  }
}

/// The caller waits for no step, and starts more than may be under way.
TEST_P(LateErrors, StepThatReusesTheSlotOfAnUnwaitedLostStepIsLost) {
  const auto graph = running_sum();
  for (const int in_flight : {1, 3}) {
    TestWorld world(1);
    Devices devices(world, GetParam());
    const RefTensor x = input_of(*graph, 1);
    auto run = GraphRun::create(graph, devices.all, {{0, x}, {1, x}},
                                {.steps_in_flight = in_flight, .by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    Plan& plan = (*run)->plan();
    devices.a.fail_at({.launch = 1});
    for (int i = 0; i < in_flight; ++i) ASSERT_TRUE(plan.start());
    const auto next = plan.start();
    ASSERT_TRUE(next);
    const Status status = plan.wait(*next);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().device(), "a0");
    EXPECT_TRUE(plan.run());
  }
}

TEST_P(LateErrors, LostDeviceFailsEveryLaterStep) {
  const auto graph = zigzag(4);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    TestWorld world(seed);
    Devices devices(world, GetParam());
    auto run = GraphRun::create(graph, devices.all, {{0, input_of(*graph, 1)}},
                                {.steps_in_flight = 2, .by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    devices.b.fail_at({.launch = 1 + seed % 2, .for_good = true});
    for (int step = 0; step < 3; ++step) {
      const Status status = (*run)->plan().run();
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().device(), "b0") << status.error().message();
      EXPECT_TRUE(status.error().vendor() && status.error().vendor()->code == 719);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, LateErrors, testing::ValuesIn(kWays), name_of_way);

}  // namespace
}  // namespace shunt::test::schedule_late_errors_test
