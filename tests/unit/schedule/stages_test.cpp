// Steps in flight where the CPU computes behind an asynchronous device: the next step is submitted
// to that device before the CPU computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <thread>

#include "schedule/plan/stages.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "shunt/trace.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/test_device.h"

namespace shunt::test::schedule_stages_test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr std::int64_t kWidth = 8;

// ---- find_stages()

/// One action: its device, and the actions of the same step that it waits for.
struct Listed {
  int device = 0;
  std::vector<std::size_t> waits = {};
  std::size_t submitted_before = 0;
};

class Stages : public ::testing::Test {
 protected:
  std::vector<Stage> find(std::span<const Listed> listed, std::size_t steps_in_flight = 4) {
    std::vector<Action> actions;
    std::vector<Waits> waits;
    for (const Listed& each : listed) {
      actions.push_back({.device = each.device});
      waits.push_back({.same_step = each.waits, .submitted_before = each.submitted_before});
    }
    return find_stages(actions, waits, devices_, steps_in_flight);
  }
  static std::vector<std::size_t> begins(std::span<const Stage> stages) {
    std::vector<std::size_t> found;
    for (const Stage& stage : stages) found.push_back(stage.begin);
    return found;
  }
  static std::vector<std::size_t> dues(std::span<const Stage> stages) {
    std::vector<std::size_t> found;
    for (const Stage& stage : stages) found.push_back(stage.due);
    return found;
  }

  TestWorld world_;
  TestDevice a_{{.name = "a0", .world = &world_}};
  TestDevice b_{{.name = "b0", .world = &world_}};
  TestDevice host_{{.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true}};
  std::vector<Device*> devices_ = {&a_, &b_, &host_};
  static constexpr int kA = 0;
  static constexpr int kB = 1;
  static constexpr int kCpu = 2;
};

TEST_F(Stages, OneStepInFlightIsOneStage) {
  const Listed actions[] = {{kA}, {kA}, {kCpu, {1}}};
  const auto stages = find(actions, 1);
  ASSERT_EQ(stages.size(), 1U);
  EXPECT_EQ(stages[0].end, 3U);
}

TEST_F(Stages, CpuAfterAnAcceleratorBeginsAStage) {
  const Listed actions[] = {{kCpu}, {kA, {0}}, {kA}, {kCpu, {2}}, {kCpu}};
  const auto stages = find(actions);
  EXPECT_THAT(begins(stages), ElementsAre(0, 3));
  EXPECT_THAT(dues(stages), ElementsAre(0, 1));
  EXPECT_EQ(stages[0].end, 3U);
  EXPECT_EQ(stages[1].end, 5U);
}

TEST_F(Stages, CpuAfterTwoAcceleratorsIsDueTwoStepsLater) {
  const Listed actions[] = {{kA}, {kB, {0}}, {kCpu, {1}}};
  const auto stages = find(actions);
  EXPECT_THAT(begins(stages), ElementsAre(0, 2));
  EXPECT_THAT(dues(stages), ElementsAre(0, 2));
}

TEST_F(Stages, CpuBetweenTwoAcceleratorsBeginsAStage) {
  const Listed actions[] = {{kA}, {kCpu, {0}}, {kB, {1}}, {kB}};
  const auto stages = find(actions);
  EXPECT_THAT(begins(stages), ElementsAre(0, 1));
  EXPECT_THAT(dues(stages), ElementsAre(0, 1));
}

TEST_F(Stages, AcceleratorAfterTheCpuBeginsNoStage) {
  const Listed actions[] = {{kCpu}, {kA, {0}}, {kB, {1}}, {kB}};
  EXPECT_THAT(begins(find(actions)), ElementsAre(0));
}

TEST_F(Stages, HostActionThatWaitsForAnAcceleratorBeginsAStage) {
  const Listed actions[] = {{kA}, {kHostAction, {0}}, {kA, {}}};
  EXPECT_THAT(begins(find(actions)), ElementsAre(0, 1));
}

TEST_F(Stages, SecondWaitForTheSameActionBeginsNoStage) {
  const Listed actions[] = {{kA}, {kCpu, {0}}, {kCpu, {0}}, {kA}, {kCpu, {0, 3}}};
  const auto stages = find(actions);
  EXPECT_THAT(begins(stages), ElementsAre(0, 1, 4));
  EXPECT_THAT(dues(stages), ElementsAre(0, 1, 2));
}

TEST_F(Stages, SubmittedBeforeIsTheMaximumOverItsActions) {
  const Listed actions[] = {{kA, {}, 1}, {kA, {}, 5}, {kA, {}, 3}, {kCpu, {2}, 4}, {kCpu, {}, 5}};
  const auto stages = find(actions);
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0].submitted_before, 5U);
  EXPECT_EQ(stages[1].submitted_before, 5U);
}

TEST_F(Stages, StepWithoutActionsIsOneEmptyStage) {
  const auto stages = find({});
  ASSERT_EQ(stages.size(), 1U);
  EXPECT_EQ(stages[0].end, 0U);
}

// ---- plans

/// Some silu on a0, then scale on the CPU.
std::shared_ptr<const Graph> cpu_behind() {
  GraphBuilder g;
  Result<Value> x = g.input("x", *make_tensor(DType::kF32, {kWidth}));
  x = silu(g, silu(g, x));
  EXPECT_TRUE(g.output(scale(g, x, {.scale = 0.5F}), "y"));
  return std::make_shared<const Graph>(std::move(*std::move(g).build()));
}

/// Each step adds half of its input, made on a0, to a cache on the CPU, and puts out the sum.
std::shared_ptr<const Graph> sum_on_cpu() {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {kWidth, 1}));
  const auto sum = g.cache("sum", *make_tensor(DType::kF32, {kWidth, 1}));
  const auto half = scale(g, x, {.scale = 0.5F});
  const auto written = set(g, sum, add(g, half, sum), {0, 0, 0, 0});
  EXPECT_TRUE(g.output(cont(g, written), "y"));
  return std::make_shared<const Graph>(std::move(*std::move(g).build()));
}

RefTensor filled(const Graph& graph, double value) {
  RefTensor values(max_sizes(graph.node(0).result.shape));
  for (double& each : values.data) each = value;
  return values;
}

RefTensor input_of(const Graph& graph, std::uint64_t seed) {
  return make_values({.sizes = max_sizes(graph.node(0).result.shape)}, seed);
}

/// Its events tell no times, as those would be of another clock than the world's: a trace has those
/// of the calls, which wait for other devices.
TestDeviceConfig cpu_config() {
  return {.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true, .tells_times = false};
}

/// Starts steps with these inputs, as many at once as allowed. The outputs, or errors.
std::vector<Result<RefTensor>> run_steps(GraphRun& run, const Graph& graph,
                                         std::span<const RefTensor> inputs, std::size_t in_flight,
                                         const std::atomic<bool>* cancel = nullptr) {
  std::vector<Result<RefTensor>> outputs;
  std::vector<std::uint64_t> started;
  const auto finish = [&] {
    const Status status = run.plan().wait(started[outputs.size()]);
    if (status) {
      outputs.push_back(run.output(graph.outputs()[0]));
    } else {
      outputs.push_back(Error(status.error()));
    }
  };
  for (const RefTensor& input : inputs) {
    if (started.size() - outputs.size() == in_flight) finish();
    EXPECT_TRUE(run.set_inputs({{0, input}}));
    const auto step = run.plan().start(cancel);
    EXPECT_TRUE(step);
    started.push_back(*step);
  }
  while (outputs.size() < started.size()) finish();
  return outputs;
}

std::vector<RefTensor> inputs_of(const Graph& graph, std::size_t steps) {
  std::vector<RefTensor> inputs;
  for (std::size_t i = 0; i < steps; ++i) inputs.push_back(input_of(graph, i));
  return inputs;
}

/// While the CPU computes a node the world goes on, and its clock for 5 seconds.
void let_cpu_take_time(TestDevice& cpu, TestWorld& world) {
  cpu.on_launch = [&](NodeId) {
    (void)world.try_to_run_until({});
    world.host_waited(world.host_now() + 5);
  };
}

/// When each segment was computed, by device and step.
std::map<std::string, std::map<std::uint64_t, WorkTimes>> segments(const Trace& trace) {
  const auto actions = trace.actions();
  std::map<std::string, std::map<std::uint64_t, WorkTimes>> times;
  for (const TraceSpan& span : trace.spans()) {
    const TraceAction& action = actions[span.action];
    if (action.kind == TraceKind::kSegment) times[action.stream][span.step] = span.times;
  }
  return times;
}

TEST(CpuAfterAnAccelerator, StepsOverlapInATrace) {
  const auto graph = cpu_behind();
  for (const int in_flight : {1, 2, 4}) {
    for (const bool transfer_queue : {false, true}) {
      TestWorld world;
      TestDevice a({.name = "a0",
                    .ops = {"silu"},
                    .world = &world,
                    .seconds_per_node = 2,
                    .transfer_queue = transfer_queue});
      TestDevice cpu(cpu_config());
      let_cpu_take_time(cpu, world);
      Device* devices[] = {&a, &cpu};
      const auto trace = *Trace::create({.clock = [&] { return world.host_now(); }});
      auto run = GraphRun::create(
          graph, devices, {{0, input_of(*graph, 0)}},
          {.steps_in_flight = in_flight, .by_ability = true, .trace = trace.get()});
      ASSERT_TRUE(run) << run.error().message();
      constexpr std::size_t kSteps = 8;
      const auto outputs =
          run_steps(**run, *graph, inputs_of(*graph, kSteps), static_cast<std::size_t>(in_flight));
      for (const auto& output : outputs) ASSERT_TRUE(output) << output.error().message();
      const auto times = segments(*trace);
      const auto& on_a = times.at("a0");
      const auto& on_cpu = times.at("cpu0");
      ASSERT_EQ(on_a.size(), kSteps);
      ASSERT_EQ(on_cpu.size(), kSteps);
      for (std::uint64_t step = 0; step + 1 < kSteps; ++step) {
        if (in_flight == 1) {
          EXPECT_GE(on_a.at(step + 1).begin, on_cpu.at(step).end) << "step " << step;
        } else {
          EXPECT_LT(on_a.at(step + 1).begin, on_cpu.at(step).end) << "step " << step;
        }
      }
    }
  }
}

TEST(CpuAfterAnAccelerator, NextStepIsSubmittedBeforeTheCpuComputes) {
  const auto graph = cpu_behind();
  for (const int in_flight : {1, 2}) {
    TestWorld world;
    TestDevice a({.name = "a0", .ops = {"silu"}, .world = &world});
    TestDevice cpu(cpu_config());
    std::vector<std::size_t> computed;  // nodes of a0, by node of the CPU
    cpu.on_launch = [&](NodeId) {
      (void)world.try_to_run_until({});  // all that was submitted
      computed.push_back(a.computed());
    };
    Device* devices[] = {&a, &cpu};
    auto run = GraphRun::create(graph, devices, {{0, input_of(*graph, 0)}},
                                {.steps_in_flight = in_flight, .by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    run_steps(**run, *graph, inputs_of(*graph, 4), static_cast<std::size_t>(in_flight));
    const std::vector<std::size_t> apart = {2, 4, 6, 8};
    const std::vector<std::size_t> overlapping = {4, 6, 8, 8};
    EXPECT_THAT(computed, ElementsAreArray(in_flight == 1 ? apart : overlapping));
  }
}

TEST(CpuAfterAnAccelerator, ComputesOnTheCallingThread) {
  const auto graph = cpu_behind();
  for (const int in_flight : {1, 2}) {
    TestWorld world;
    TestDevice a({.name = "a0", .ops = {"silu"}, .world = &world});
    TestDevice cpu(cpu_config());
    std::set<std::thread::id> threads;
    cpu.on_launch = [&](NodeId) { threads.insert(std::this_thread::get_id()); };
    Device* devices[] = {&a, &cpu};
    auto run = GraphRun::create(graph, devices, {{0, input_of(*graph, 0)}},
                                {.steps_in_flight = in_flight, .by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    run_steps(**run, *graph, inputs_of(*graph, 3), static_cast<std::size_t>(in_flight));
    EXPECT_THAT(threads, ElementsAre(std::this_thread::get_id()));
  }
}

/// With one step in flight start() computes all that the CPU has to do, as without stages.
TEST(CpuAfterAnAccelerator, SingleStepInFlightIsComputedByStart) {
  const auto graph = cpu_behind();
  TestWorld world;
  TestDevice a({.name = "a0", .ops = {"silu"}, .world = &world});
  TestDevice cpu(cpu_config());
  Device* devices[] = {&a, &cpu};
  auto run = GraphRun::create(graph, devices, {{0, input_of(*graph, 0)}}, {.by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  const auto step = (*run)->plan().start();
  ASSERT_TRUE(step);
  EXPECT_EQ(cpu.computed(), 1U);
  EXPECT_TRUE((*run)->plan().wait(*step));
}

/// A random graph over ops that two accelerators and the CPU share out, with a cache that every
/// step writes.
std::shared_ptr<const Graph> random_graph(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  GraphBuilder g;
  const auto input = g.input("x", *make_tensor(DType::kF32, {kWidth, 4}));
  const auto rows = g.input("ids", *make_tensor(DType::kI32, {4}));
  const auto cache = g.cache("cache", *make_tensor(DType::kF32, {kWidth, 6}));
  std::vector<Result<Value>> values = {input};
  const auto any = [&]() -> const Result<Value>& {
    return values[values.size() - 1 - random() % std::min<std::size_t>(values.size(), 3)];
  };
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
  const auto read = view(g, written, {0, 0, 0, 0}, {kWidth, 4});
  EXPECT_TRUE(g.output(add(g, scale(g, read, {.scale = 2}), any()), "y"));
  return std::make_shared<const Graph>(std::move(*std::move(g).build()));
}

/// Of six steps of a random graph. The CPU has the ops that the accelerators lack.
std::vector<RefTensor> random_steps(std::uint64_t seed, int in_flight, std::uint64_t order) {
  const auto graph = random_graph(seed);
  TestWorld world(order);
  const std::vector<std::string> ops = {"silu", "scale", "add", "mul", "set_rows"};
  TestDeviceConfig of_a = {.name = "a0", .copies_directly = seed % 2 == 0, .world = &world};
  TestDeviceConfig of_b = {.name = "b0", .copies_directly = seed % 2 == 0, .world = &world};
  of_a.pins_memory = seed % 3 == 0;
  of_b.transfer_queue = seed % 5 == 0;
  of_a.late_errors = of_b.late_errors = seed % 7 == 0;
  of_a.ops = {ops[seed % 5]};
  of_b.ops = {ops[(seed / 5 + seed + 1) % 5]};
  TestDevice a(of_a);
  TestDevice b(of_b);
  TestDevice cpu(cpu_config());
  Device* devices[] = {&a, &b, &cpu};
  RefTensor rows({4, 1, 1, 1});
  rows.data = {3, 0, 5, 2};
  auto run = GraphRun::create(
      graph, devices,
      {{0, input_of(*graph, 0)}, {1, rows}, {2, make_values({.sizes = {kWidth, 6, 1, 1}}, 99)}},
      {.steps_in_flight = in_flight, .by_ability = true});
  EXPECT_TRUE(run) << run.error().message();
  std::vector<RefTensor> found;
  for (auto& output :
       run_steps(**run, *graph, inputs_of(*graph, 6), static_cast<std::size_t>(in_flight))) {
    EXPECT_TRUE(output) << output.error().message();
    if (output) found.push_back(std::move(*output));
  }
  const auto cache = (*run)->leaf(2);
  EXPECT_TRUE(cache);
  if (cache) found.push_back(*cache);
  return found;
}

TEST(CpuBetweenAccelerators, ExecutionOrderChangesNoBit) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto wanted = random_steps(seed, 1, 1);
    for (const int in_flight : {2, 3, 4}) {
      const auto found = random_steps(seed, in_flight, 100 * seed);
      ASSERT_EQ(found.size(), wanted.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].data, wanted[i].data)
            << "seed " << seed << ", " << in_flight << " in flight, step " << i;
      }
    }
  }
}

TEST(CpuAfterAnAccelerator, CpuErrorLosesTheStepsInFlightAfterIt) {
  const auto graph = sum_on_cpu();
  for (const std::size_t in_flight : {1U, 2U, 4U}) {
    for (std::size_t launch = 1; launch <= 9; ++launch) {
      TestWorld world(launch);
      TestDevice a({.name = "a0", .ops = {"scale"}, .world = &world});
      TestDevice cpu(cpu_config());
      Device* devices[] = {&a, &cpu};
      auto run =
          GraphRun::create(graph, devices, {{0, filled(*graph, 1)}, {1, filled(*graph, 0)}},
                           {.steps_in_flight = static_cast<int>(in_flight), .by_ability = true});
      ASSERT_TRUE(run) << run.error().message();
      cpu.fail_at({.launch = launch});
      const std::size_t failing = (launch - 1) / 3;  // add, set, cont
      const std::vector<RefTensor> ones(failing + in_flight, filled(*graph, 1));
      const auto outputs = run_steps(**run, *graph, ones, in_flight);
      for (std::size_t step = 0; step < outputs.size(); ++step) {
        if (step < failing) {
          ASSERT_TRUE(outputs[step]) << outputs[step].error().message();
          EXPECT_EQ(outputs[step]->data, filled(*graph, 0.5 * static_cast<double>(step + 1)).data);
        } else {
          ASSERT_FALSE(outputs[step]) << "step " << step << ", launch " << launch;
          EXPECT_EQ(outputs[step].error().device(), "cpu0");
          EXPECT_EQ(outputs[step].error().code(), ErrorCode::kDevice);
        }
      }
      // The caller knows: a step that starts now finds the cache as the steps before the failed one
      // left it, or with the row of the failed one.
      const double before = 0.5 * static_cast<double>(failing + (launch % 3 == 0 ? 1 : 0));
      const auto next = run_steps(**run, *graph, std::vector{filled(*graph, 1)}, in_flight);
      ASSERT_TRUE(next[0]) << next[0].error().message();
      EXPECT_EQ(next[0]->data, filled(*graph, before + 0.5).data) << "launch " << launch;
    }
  }
}

TEST(CpuAfterAnAccelerator, LateErrorLosesTheStepsInFlightAfterIt) {
  const auto graph = sum_on_cpu();
  for (const bool late : {false, true}) {
    for (std::size_t launch = 1; launch <= 3; ++launch) {
      TestWorld world(launch);
      TestDevice a({.name = "a0", .ops = {"scale"}, .world = &world, .late_errors = late});
      TestDevice cpu(cpu_config());
      Device* devices[] = {&a, &cpu};
      auto run = GraphRun::create(graph, devices, {{0, filled(*graph, 1)}, {1, filled(*graph, 0)}},
                                  {.steps_in_flight = 3, .by_ability = true});
      ASSERT_TRUE(run) << run.error().message();
      a.fail_at({.launch = launch});
      const auto outputs = run_steps(**run, *graph, std::vector(launch + 2, filled(*graph, 1)), 3);
      for (std::size_t step = 0; step < outputs.size(); ++step) {
        if (step + 1 < launch) {
          EXPECT_TRUE(outputs[step]);
          continue;
        }
        ASSERT_FALSE(outputs[step]) << "step " << step << ", launch " << launch;
        EXPECT_THAT(outputs[step].error().message(), HasSubstr("a0: the launch failed"));
        if (step + 1 == launch) {
          EXPECT_EQ(outputs[step].error().device(), "a0");
        }
      }
      const auto next = run_steps(**run, *graph, std::vector(4, filled(*graph, 1)), 3);
      for (std::size_t step = 0; step < next.size(); ++step) {
        ASSERT_TRUE(next[step]) << next[step].error().message();
        EXPECT_EQ(next[step]->data, filled(*graph, 0.5 * static_cast<double>(launch + step)).data);
      }
    }
  }
}

/// Steps behind a lost one are waited for after a new one has started.
TEST(CpuAfterAnAccelerator, StepStartedAfterAnErrorSucceeds) {
  const auto graph = sum_on_cpu();
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    TestWorld world(seed);
    TestDevice a({.name = "a0", .ops = {"scale"}, .world = &world, .late_errors = seed % 2 == 0});
    TestDevice cpu(cpu_config());
    Device* devices[] = {&a, &cpu};
    auto run = GraphRun::create(graph, devices, {{0, filled(*graph, 1)}, {1, filled(*graph, 0)}},
                                {.steps_in_flight = 4, .by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    Plan& plan = (*run)->plan();
    cpu.fail_at({.launch = 1});
    std::vector<std::uint64_t> steps;
    for (int i = 0; i < 3; ++i) steps.push_back(*plan.start());
    EXPECT_FALSE(plan.wait(steps[0]));
    for (int i = 0; i < 2; ++i) {
      steps.push_back(*plan.start());
      EXPECT_FALSE(plan.wait(steps[static_cast<std::size_t>(i) + 1]));
    }
    for (std::size_t i = 3; i < 5; ++i) {
      const Status status = plan.wait(steps[i]);
      ASSERT_TRUE(status) << status.error().message();
      EXPECT_EQ((*run)->output(graph->outputs()[0])->data,
                filled(*graph, 0.5 * static_cast<double>(i - 2)).data);
    }
  }
}

TEST(CpuAfterAnAccelerator, CancelEndsStepsWithinOneNode) {
  const auto graph = sum_on_cpu();
  for (std::size_t after = 1; after <= 12; ++after) {
    TestWorld world(after);
    TestDevice a({.name = "a0", .ops = {"scale"}, .world = &world});
    TestDevice cpu(cpu_config());
    std::atomic<bool> cancel = false;
    std::size_t launches = 0;
    const auto count = [&](NodeId) {
      if (++launches == after) cancel = true;
    };
    a.on_launch = cpu.on_launch = count;
    Device* devices[] = {&a, &cpu};
    auto run = GraphRun::create(graph, devices, {{0, filled(*graph, 1)}, {1, filled(*graph, 0)}},
                                {.steps_in_flight = 2, .by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    const auto outputs = run_steps(**run, *graph, std::vector(8, filled(*graph, 1)), 2, &cancel);
    // Each step in flight looks once more.
    EXPECT_LE(launches, after + 2) << "after " << after;
    ASSERT_FALSE(outputs.back());
    EXPECT_EQ(outputs.back().error().code(), ErrorCode::kCancelled);
    bool cancelled = false;
    for (const auto& output : outputs) {
      EXPECT_TRUE(!cancelled || !output) << "a step behind a cancelled one has a result";
      cancelled |= !output;
    }
    cancel = false;
    a.on_launch = cpu.on_launch = {};
    EXPECT_TRUE((*run)->plan().run());
  }
}

TEST(CpuAfterAnAccelerator, PlanMayBeDestroyedWithStepsInFlight) {
  const auto graph = cpu_behind();
  for (int started = 1; started <= 4; ++started) {
    TestWorld world(1);
    TestDevice a({.name = "a0", .ops = {"silu"}, .world = &world});
    TestDevice cpu(cpu_config());
    Device* devices[] = {&a, &cpu};
    auto run = GraphRun::create(graph, devices, {{0, input_of(*graph, 0)}},
                                {.steps_in_flight = 4, .by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    for (int i = 0; i < started; ++i) ASSERT_TRUE((*run)->plan().start());
    run->reset();
    EXPECT_EQ(a.allocated(), 0U);
    const std::size_t computed = a.computed() + cpu.computed();
    (void)world.try_to_run_until({});
    EXPECT_EQ(a.computed() + cpu.computed(), computed);
  }
}

TEST(CpuAfterAnAccelerator, StepsMayBeWaitedForInAnyOrder) {
  const auto graph = sum_on_cpu();
  TestWorld world(1);
  TestDevice a({.name = "a0", .ops = {"scale"}, .world = &world});
  TestDevice cpu(cpu_config());
  Device* devices[] = {&a, &cpu};
  auto run = GraphRun::create(graph, devices, {{0, filled(*graph, 1)}, {1, filled(*graph, 0)}},
                              {.steps_in_flight = 4, .by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  std::vector<std::uint64_t> steps;
  for (int i = 0; i < 4; ++i) steps.push_back(*(*run)->plan().start());
  for (const std::size_t i : {3U, 0U, 2U, 1U}) {
    ASSERT_TRUE((*run)->plan().wait(steps[i]));
    EXPECT_EQ((*run)->output(graph->outputs()[0])->data,
              filled(*graph, 0.5 * static_cast<double>(i + 1)).data);
  }
}

/// Dynamic dimensions and threads are those of the start.
TEST(CpuAfterAnAccelerator, StepKeepsTheThreadCountOfItsStart) {
  const auto graph = cpu_behind();
  TestWorld world(1);
  TestDevice a({.name = "a0", .ops = {"silu"}, .world = &world});
  TestDevice cpu(cpu_config());
  Device* devices[] = {&a, &cpu};
  auto run = GraphRun::create(graph, devices, {{0, input_of(*graph, 0)}},
                              {.steps_in_flight = 2, .by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  Plan& plan = (*run)->plan();
  ASSERT_TRUE(plan.set_threads(3));
  const auto step = plan.start();
  ASSERT_TRUE(step);
  ASSERT_TRUE(plan.set_threads(1));
  ASSERT_TRUE(plan.wait(*step));
  EXPECT_EQ(cpu.threads(), 3);
}

}  // namespace
}  // namespace shunt::test::schedule_stages_test
