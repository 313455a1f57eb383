// Traces: a plan's record of its work and the times of it, on devices with a simulated clock.
#include "shunt/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "base/clock.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/test_device.h"

namespace shunt::test::schedule_trace_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TestDeviceConfig cpu_config() {
  return {.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true};
}

/// A span, readably: "write x (input) a0 0-1".
std::string to_text(const Trace& trace, const TraceSpan& span) {
  const TraceAction action = trace.actions()[span.action];
  return fmt::format("{} {} {} {}-{}", to_string(action.kind), action.name, action.stream,
                     span.times.begin, span.times.end);
}

std::vector<std::string> to_texts(const Trace& trace) {
  std::vector<std::string> texts;
  for (const TraceSpan& span : trace.spans()) texts.push_back(to_text(trace, span));
  return texts;
}

/// y = scale(silu(x)) of 16 values, 64 bytes: silu on a0, scale on b0, each with memory of its own.
/// A silu takes 2 s and a copy from or to a0 1 s; a scale 3 s, and a copy from or to b0 2 s. Data
/// from a0 to b0 is copied through the host.
class TwoDevices : public testing::Test {
 protected:
  TwoDevices() {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {16}));
    const auto middle = silu(g, x);
    EXPECT_TRUE(g.name(middle, "m"));
    EXPECT_TRUE(g.output(scale(g, middle, {.scale = 0.5F}), "y"));
    graph_ = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  }

  std::shared_ptr<Trace> make_trace(TraceOptions options = {}) {
    options.clock = [this] { return world_.host_now(); };
    return *Trace::create(std::move(options));
  }

  std::unique_ptr<GraphRun> compile(Trace* trace, int steps_in_flight = 1) {
    Device* devices[] = {&a_, &b_, &host_};
    auto run =
        GraphRun::create(graph_, devices, {{0, make_values({.sizes = {16, 1, 1, 1}}, 1)}},
                         {.steps_in_flight = steps_in_flight, .by_ability = true, .trace = trace});
    EXPECT_TRUE(run) << run.error().message();
    return std::move(*run);
  }

  /// Runs `steps` steps, up to `in_flight` of them at once.
  void run_steps(Plan& plan, std::size_t steps, std::size_t in_flight) {
    std::vector<std::uint64_t> started;
    for (std::size_t i = 0; i < steps; ++i) {
      if (i >= in_flight) {
        ASSERT_TRUE(plan.wait(started[i - in_flight]));
      }
      const auto step = plan.start();
      ASSERT_TRUE(step);
      started.push_back(*step);
    }
    for (std::uint64_t step : started) (void)plan.wait(step);
  }

  TestWorld world_;
  TestDevice host_{cpu_config()};
  TestDevice a_{{.name = "a0",
                 .ops = {"silu"},
                 .world = &world_,
                 .seconds_per_node = 2,
                 .seconds_per_byte = 1.0 / 64}};
  TestDevice b_{{.name = "b0",
                 .ops = {"scale"},
                 .world = &world_,
                 .seconds_per_node = 3,
                 .seconds_per_byte = 2.0 / 64}};
  std::shared_ptr<const Graph> graph_;
};

TEST_F(TwoDevices, TraceHasDeviceTimesOfEveryAction) {
  const auto trace = make_trace();
  const auto run = compile(trace.get());
  ASSERT_TRUE(run->plan().run());
  EXPECT_THAT(to_texts(*trace), ElementsAre("write x (input) a0 0-1", "segment m (silu) a0 1-3",
                                            "read m (silu) a0 3-4", "write m (silu) b0 4-6",
                                            "segment y (scale) b0 6-9", "read y (scale) b0 9-11"));
  for (const TraceSpan& span : trace->spans()) {
    const bool copied = trace->actions()[span.action].kind != TraceKind::kSegment;
    EXPECT_EQ(span.bytes, copied ? 64U : 0U);
    EXPECT_EQ(span.step, 0U);
    EXPECT_FALSE(span.seen_by_host);
  }
}

TEST_F(TwoDevices, TracedSegmentTakesTheTimeOfItsOps) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {16}));
  ASSERT_TRUE(g.output(relu(g, scale(g, silu(g, x), {.scale = 0.5F})), "y"));
  graph_ = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  TestDevice mixed({.name = "a0",
                    .ops = {"silu", "scale"},
                    .world = &world_,
                    .seconds_per_node = 2,
                    .seconds_of = {{"scale", 5}}});
  Device* devices[] = {&mixed, &host_};
  const auto trace = make_trace();
  const auto run =
      GraphRun::create(graph_, devices, {{0, make_values({.sizes = {16, 1, 1, 1}}, 1)}},
                       {.by_ability = true, .trace = trace.get()});
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  const auto spans = trace->spans();
  const auto segment = std::find_if(spans.begin(), spans.end(), [&](const TraceSpan& span) {
    const TraceAction action = trace->actions()[span.action];
    return action.kind == TraceKind::kSegment && action.stream == "a0";
  });
  ASSERT_NE(segment, spans.end());
  EXPECT_EQ(segment->times.end - segment->times.begin, 7);  // 2 of silu, 5 of scale
}

TEST_F(TwoDevices, TracedSegmentsListNodesAndDependencies) {
  const auto trace = make_trace();
  const auto run = compile(trace.get());
  const auto actions = trace->actions();
  ASSERT_EQ(actions.size(), 6U);
  EXPECT_EQ(actions[1].nodes, 1U);
  EXPECT_EQ(actions[1].first, "m (silu)");
  EXPECT_EQ(actions[4].segment, 1U);
  EXPECT_THAT(actions[0].after, IsEmpty());  // an input
  EXPECT_THAT(actions[1].after, ElementsAre(0));
  EXPECT_THAT(actions[2].after, ElementsAre(1));  // out of a0
  EXPECT_THAT(actions[3].after, ElementsAre(2));  // into b0
  EXPECT_THAT(actions[4].after, ElementsAre(3));
  EXPECT_THAT(actions[5].after, ElementsAre(4));
}

TEST_F(TwoDevices, TraceShowsOverlappingSteps) {
  const auto trace = make_trace();
  const auto run = compile(trace.get(), 4);
  run_steps(run->plan(), 4, 4);
  // a0 takes 4 s a step and b0 7 s; so step n leaves a0 at 4 n + 4, and b0 begins it at 7 n + 4.
  std::vector<std::string> expected;
  for (int n = 0; n < 4; ++n) {
    const int a = 4 * n;
    const int b = 4 + 7 * n;
    for (const auto& [what, begin, end] : {std::tuple("write x (input) a0", a, a + 1),
                                           {"segment m (silu) a0", a + 1, a + 3},
                                           {"read m (silu) a0", a + 3, a + 4},
                                           {"write m (silu) b0", b, b + 2},
                                           {"segment y (scale) b0", b + 2, b + 5},
                                           {"read y (scale) b0", b + 5, b + 7}}) {
      expected.push_back(fmt::format("{} {}-{}", what, begin, end));
    }
  }
  EXPECT_EQ(to_texts(*trace), expected);
  for (std::size_t i = 0; i < trace->spans().size(); ++i) EXPECT_EQ(trace->spans()[i].step, i / 6);
}

TEST_F(TwoDevices, DeviceWithoutEventTimesIsTimedByTheHost) {
  TestDevice silent({.name = "a0",
                     .ops = {"silu"},
                     .world = &world_,
                     .seconds_per_node = 2,
                     .seconds_per_byte = 1.0 / 64,
                     .tells_times = false});
  Device* devices[] = {&silent, &b_, &host_};
  const auto trace = make_trace();
  const auto run =
      GraphRun::create(graph_, devices, {{0, make_values({.sizes = {16, 1, 1, 1}}, 1)}},
                       {.by_ability = true, .trace = trace.get()});
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  ASSERT_TRUE((*run)->plan().run());
  // All of a step is submitted at once. The work that is seen done first was submitted first; the
  // next can't have begun before.
  EXPECT_THAT(
      to_texts(*trace),
      ElementsAre("write x (input) a0 0-1", "segment m (silu) a0 1-3", "read m (silu) a0 3-4",
                  "write m (silu) b0 4-6", "segment y (scale) b0 6-9", "read y (scale) b0 9-11",
                  "write x (input) a0 11-12", "segment m (silu) a0 12-14", "read m (silu) a0 14-15",
                  "write m (silu) b0 15-17", "segment y (scale) b0 17-20",
                  "read y (scale) b0 20-22"));
  for (const TraceSpan& span : trace->spans()) {
    EXPECT_EQ(span.seen_by_host, trace->actions()[span.action].stream == "a0");
  }
}

TEST_F(TwoDevices, SpansAboveTheTraceCapacityAreDroppedAndCounted) {
  const auto trace = make_trace({.capacity = 8});
  const auto run = compile(trace.get());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run->plan().run());
  EXPECT_EQ(trace->spans().size(), 8U);
  EXPECT_EQ(trace->left_out(), 3U * 6 - 8);
  EXPECT_EQ(to_text(*trace, trace->spans()[7]), "segment m (silu) a0 12-14");
}

TEST_F(TwoDevices, TraceOfAFailedStepHasItsCompletedActions) {
  const auto trace = make_trace();
  const auto run = compile(trace.get());
  b_.fail_at({.launch = 1});
  ASSERT_FALSE(run->plan().run());
  EXPECT_EQ(trace->spans().size(), 4U);  // x to a0, silu, out of a0, into b0
  ASSERT_TRUE(run->plan().run());
  EXPECT_EQ(trace->spans().size(), 4U + 6);
  EXPECT_EQ(trace->spans().back().step, 1U);
}

TEST_F(TwoDevices, TimedEventsAreUsedOnlyWhileTracing) {
  ASSERT_TRUE(compile(nullptr)->plan().run());
  EXPECT_EQ(a_.timed_events + b_.timed_events, 0U);
  const auto trace = make_trace();
  compile(trace.get());
  EXPECT_EQ(a_.timed_events + b_.timed_events, 6U);
}

/// Chains that go to and fro between three devices, in every order that is allowed.
TEST(TraceOfPlans, StreamSpansNeverOverlapAndEveryActionAppearsOnce) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    GraphBuilder g;
    Result<Value> x = g.input("x", *make_tensor(DType::kF32, {16}));
    for (int i = 0; i < 12; ++i) {
      x = random() % 2 == 0 ? silu(g, x) : scale(g, x, {.scale = 0.5F});
      if (random() % 4 == 0) x = mul(g, x, x);
    }
    ASSERT_TRUE(g.output(x, "y"));
    const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    TestWorld world(seed);
    TestDevice host({.name = "cpu0",
                     .kind = DeviceKind::kCpu,
                     .host_accessible = true,
                     .world = &world,
                     .seconds_per_node = 5});
    TestDevice a({.name = "a0",
                  .ops = {"silu"},
                  .copies_directly = seed % 2 == 0,
                  .world = &world,
                  .seconds_per_node = 2,
                  .seconds_per_byte = 0.25});
    TestDevice b({.name = "b0",
                  .ops = {"scale"},
                  .copies_directly = seed % 2 == 0,
                  .world = &world,
                  .seconds_per_node = 3,
                  .seconds_per_byte = 0.125});
    Device* devices[] = {&a, &b, &host};
    const auto trace = *Trace::create({.clock = [&] { return world.host_now(); }});
    auto run = GraphRun::create(graph, devices, {{0, make_values({.sizes = {16, 1, 1, 1}}, 1)}},
                                {.steps_in_flight = 4, .by_ability = true, .trace = trace.get()});
    ASSERT_TRUE(run) << run.error().message();
    std::vector<std::uint64_t> steps;
    for (int i = 0; i < 4; ++i) steps.push_back(*(*run)->plan().start());
    for (std::uint64_t step : steps) ASSERT_TRUE((*run)->plan().wait(step));

    const auto actions = trace->actions();
    const auto spans = trace->spans();
    ASSERT_EQ(spans.size(), 4 * actions.size());
    std::map<std::string, double> ended;
    std::map<std::pair<std::uint64_t, std::uint32_t>, WorkTimes> times;
    for (const TraceSpan& span : spans) {  // by step, then in the order of submitting
      const TraceAction& action = actions[span.action];
      EXPECT_TRUE(times.emplace(std::pair(span.step, span.action), span.times).second);
      EXPECT_LE(ended[action.stream], span.times.begin) << "seed " << seed;
      EXPECT_LE(span.times.begin, span.times.end);
      ended[action.stream] = span.times.end;
      for (std::uint32_t after : action.after) {
        EXPECT_LE((times.at({span.step, after}).end), span.times.begin) << "seed " << seed;
      }
    }
  }
}

TEST(TraceOfPlans, ObserverCallsAreHostSpans) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {16}));
  const auto seen = silu(g, x);
  ASSERT_TRUE(g.output(scale(g, seen, {.scale = 2}), "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  TestDevice host(cpu_config());
  Device* devices[] = {&host};
  const auto trace = *Trace::create();
  const double before = steady_seconds();
  auto plan = compile(graph, *place(*graph, devices),
                      {.observer = {{seen->id}, [](const Observed&) { return true; }},
                       .steps_in_flight = 1,
                       .trace = trace.get()});
  ASSERT_TRUE(plan);
  ASSERT_TRUE((*plan)->run());
  const double after = steady_seconds();
  const auto actions = trace->actions();
  std::vector<std::string> what;
  double last = before;
  for (const TraceSpan& span : trace->spans()) {  // on a device that works at once: real times
    what.push_back(std::string(to_string(actions[span.action].kind)) + " " +
                   actions[span.action].stream);
    EXPECT_LE(last, span.times.begin);
    EXPECT_LE(span.times.begin, span.times.end);
    last = span.times.end;
  }
  EXPECT_LE(last, after);
  EXPECT_THAT(what, ElementsAre("segment cpu0", "observe host", "segment cpu0"));
}

/// The device chooses experts, whose numbers the host reads to send just these.
TEST(TraceOfPlans, ExpertsArePickedByAHostSpanAndSentSeparately) {
  GraphBuilder g;
  const auto table = g.input("table", *make_tensor(DType::kI32, {2, 32}));
  const auto row = g.input("row", *make_tensor(DType::kI32, {1}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {32, 1, 1}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {32, 6, 12}), Role::kExpertWeight);
  const auto choice = get_rows(g, table, row);
  ASSERT_TRUE(g.name(choice, "choice"));
  ASSERT_TRUE(g.output(matmul_id(g, w, x, choice), "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  leaves[table->id] = RefTensor({2, 32, 1, 1});
  leaves[table->id].at(0, 7) = 3;
  leaves[table->id].at(1, 7) = 9;
  leaves[row->id] = RefTensor({1, 1, 1, 1});
  leaves[row->id].at(0) = 7;
  leaves[x->id] = make_values({.sizes = {32, 1, 1, 1}}, 1);
  leaves[w->id] = make_values({.sizes = {32, 6, 12, 1}}, 2);
  TestWorld world;
  TestDevice host(cpu_config());
  TestDevice a({.name = "a0",
                .ops = {"get_rows", "matmul_id"},
                .wants = {"get_rows", "matmul_id"},
                .world = &world,
                .seconds_per_node = 2,
                .seconds_per_byte = 0.25});
  Device* devices[] = {&a, &host};
  const auto trace = *Trace::create({.clock = [&] { return world.host_now(); }});
  const auto run = GraphRun::create(
      graph, devices, leaves, {.weights_on_host = true, .stream_rows = 1, .trace = trace.get()});
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  // The row and the table are one copy: 4 bytes, 60 to the next multiple of 64, and 256. An expert
  // has 768 bytes. The host sees the numbers at 84 s, and then sends experts 3 and 9.
  EXPECT_THAT(to_texts(*trace),
              ElementsAre("write row (input) to table (input) a0 0-80",
                          "segment choice (get_rows) a0 80-82", "read choice (get_rows) a0 82-84",
                          "pick w (expert weight) host 84-84", "write w (expert weight) a0 84-468",
                          "write x (input) a0 468-500", "segment y (matmul_id) a0 500-502",
                          "read y (matmul_id) a0 502-514"));
  const auto actions = trace->actions();
  ASSERT_EQ(actions.size(), 8U);
  EXPECT_THAT(actions[2].after, ElementsAre(1));
  EXPECT_THAT(actions[3].after, ElementsAre(2));
  EXPECT_THAT(actions[4].after, ElementsAre(3));
  EXPECT_THAT(actions[5].after, IsEmpty());
  EXPECT_THAT(actions[6].after, testing::UnorderedElementsAre(4, 5));
  EXPECT_EQ(trace->spans()[3].bytes, 0U);
  EXPECT_EQ(trace->spans()[4].bytes, 2U * 768);
}

TEST(TraceOfTheHost, ScopeIsASpanOrANoOpWithoutATrace) {
  double now = 1;
  const auto trace = *Trace::create({.clock = [&] { return now; }});
  {
    const TraceScope scope(trace.get(), trace->declare_host("load"));
    now = 3;
  }
  { const TraceScope scope(nullptr, 0); }
  EXPECT_THAT(to_texts(*trace), ElementsAre("host load host 1-3"));
}

TEST(TraceOfThreads, ConcurrentUsersLoseNothing) {
  const auto trace = *Trace::create({.capacity = 4 * 1000});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&trace, i] {
      const std::uint32_t action = trace->declare_host(std::to_string(i));
      for (int n = 0; n < 1000; ++n) {
        const TraceScope scope(trace.get(), action);
        if (n % 100 == 0) (void)trace->spans();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<std::string, int> spans;
  const auto actions = trace->actions();
  for (const TraceSpan& span : trace->spans()) ++spans[actions[span.action].name];
  EXPECT_EQ(spans,
            (std::map<std::string, int>{{"0", 1000}, {"1", 1000}, {"2", 1000}, {"3", 1000}}));
  EXPECT_EQ(trace->left_out(), 0U);
}

}  // namespace
}  // namespace shunt::test::schedule_trace_test
