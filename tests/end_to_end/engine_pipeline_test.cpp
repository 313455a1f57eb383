// Prompts over several devices: their steps overlap. Two simulated devices, each with a layer; or a
// simulated device with one, and the CPU with the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "engine/model_state.h"
#include "shunt/costs.h"
#include "shunt/engine.h"
#include "shunt/trace.h"
#include "support/models.h"
#include "support/test_device.h"

namespace shunt::test::engine_pipeline_test {
namespace {

using Logits = std::vector<float>;

constexpr std::int64_t kContext = 40;
constexpr std::int64_t kBatch = 4;

std::vector<std::int32_t> prompt(std::size_t tokens) {
  std::vector<std::int32_t> all(tokens);
  for (std::size_t i = 0; i < tokens; ++i) all[i] = static_cast<std::int32_t>(i * 37 % 300);
  return all;
}

TestDeviceConfig simulated(std::string name, TestWorld& world, bool pins_memory = false) {
  return {
      .name = std::move(name), .pins_memory = pins_memory, .world = &world, .seconds_per_node = 1};
}

/// Where a model's parts are.
enum class Parts {
  kOnTwo,      ///< a layer on test0, all else on test1
  kCpuBehind,  ///< a layer on test0, the next one and the output on the CPU
  kCpuAround,  ///< the same, with the embedding on the CPU
};

std::vector<Pin> pins_of(Parts parts) {
  if (parts == Parts::kOnTwo) return {{"blk\\.0\\..*", "test0"}, {"(blk\\.1|output).*", "test1"}};
  return {{"token_embd.*", parts == Parts::kCpuBehind ? "test0" : "cpu0"},
          {"blk\\.0\\..*", "test0"},
          {"(blk\\.1|output).*", "cpu0"}};
}

/// Copies take far longer than nodes: there are no more of them than the pins ask for.
std::shared_ptr<const CostModel> few_copies() {
  const std::string any(kAnyOp);
  CostModel costs;
  for (const std::string device : {"test0", "cpu0"}) {
    costs.add(OpCost{
        .device = device, .description = "exists only in tests", .op = any, .overhead = 1e-6});
  }
  for (const bool to_device : {true, false}) {
    costs.add(CopyCost{"test0", "exists only in tests", to_device, {.latency = 1}});
  }
  return std::make_shared<const CostModel>(std::move(costs));
}

/// A model whose layers are on two devices, and a session of it.
struct Pipeline {
  explicit Pipeline(const std::string& path, std::int64_t batch, std::uint64_t seed = 1,
                    Parts parts = Parts::kOnTwo)
      : world(seed), first(simulated("test0", world, parts != Parts::kOnTwo)) {
    TraceOptions trace_options;
    trace_options.clock = [this] { return world.host_now(); };
    trace = *Trace::create(std::move(trace_options));
    LoadOptions options;
    options.session = {.context = kContext, .cache_type = DType::kF32, .batch = batch};
    options.session.trace = trace;
    options.memory_margin = 0;
    options.on_device_error.mode = DeviceErrorMode::kFail;
    options.placement.rules_only = parts == Parts::kOnTwo;  // all else goes with the weights
    options.placement.pins = pins_of(parts);
    if (parts != Parts::kOnTwo) options.placement.costs = few_copies();
    std::vector<Device*> devices = {&first, &second, &host};
    if (parts != Parts::kOnTwo) devices.erase(devices.begin() + 1);
    auto loaded = Model::load(path, devices, options);
    EXPECT_TRUE(loaded) << loaded.error().message();
    model = *loaded;
    auto made = Session::create(model, options.session);
    EXPECT_TRUE(made) << made.error().message();
    session = std::move(*made);
  }

  TestWorld world;
  TestDevice first;
  TestDevice second{simulated("test1", world)};
  TestDevice host{
      {.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true, .tells_times = false}};
  std::shared_ptr<Trace> trace;
  std::shared_ptr<const Model> model;
  std::unique_ptr<Session> session;
};

/// When segments were computed, by device and step.
std::map<std::string, std::map<std::uint64_t, WorkTimes>> computed(const Trace& trace) {
  const auto actions = trace.actions();
  std::map<std::string, std::map<std::uint64_t, WorkTimes>> times;
  for (const TraceSpan& span : trace.spans()) {
    const TraceAction& action = actions[span.action];
    if (action.kind != TraceKind::kSegment) continue;
    WorkTimes& all = times[action.stream].try_emplace(span.step, span.times).first->second;
    all.begin = std::min(all.begin, span.times.begin);
    all.end = std::max(all.end, span.times.end);
  }
  return times;
}

bool overlap(const WorkTimes& one, const WorkTimes& other) {
  return one.begin < other.end && other.begin < one.end;
}

class EnginePipeline : public ::testing::Test {
 protected:
  /// Of a prompt computed in one step.
  Logits expected(const std::vector<std::int32_t>& tokens) {
    Pipeline whole(file_.path(), kContext);
    const auto logits = whole.session->append(tokens);
    EXPECT_TRUE(logits);
    return {logits->begin(), logits->end()};
  }
  SynthModel file_{tiny_shape()};
};

/// Loading by costs leaves results for sessions, which place the same graphs.
TEST_F(EnginePipeline, ModelKeepsItsPlacementSearches) {
  const Pipeline by_rules(file_.path(), 8);
  EXPECT_EQ(by_rules.model->state()->searches->size(), 0U);
  const Pipeline by_costs(file_.path(), 8, 1, Parts::kCpuBehind);
  EXPECT_GT(by_costs.model->state()->searches->size(), 0U);
}

TEST_F(EnginePipeline, StepsOfAPromptOverlapOnTwoDevices) {
  const auto tokens = prompt(32);
  const Logits wanted = expected(tokens);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Pipeline pipeline(file_.path(), kBatch, seed);
    const double start = pipeline.world.now();
    const auto logits = pipeline.session->append(tokens);
    ASSERT_TRUE(logits) << logits.error().message();
    EXPECT_EQ(Logits(logits->begin(), logits->end()), wanted);
    const auto times = computed(*pipeline.trace);
    const auto& first = times.at("test0");
    const auto& second = times.at("test1");
    ASSERT_EQ(first.size(), 8U);
    ASSERT_EQ(second.size(), 8U);
    double busy = 0;
    for (std::uint64_t step = 0; step < 8; ++step) {
      const WorkTimes& before = second.at(step);
      busy += first.at(step).end - first.at(step).begin + before.end - before.begin;
      if (step == 7) continue;
      EXPECT_TRUE(overlap(first.at(step + 1), before)) << "step " << step;
    }
    // Without overlap it would take as long as both devices are busy.
    EXPECT_LT(pipeline.world.now() - start, 0.75 * busy) << "seed " << seed;
  }
}

TEST_F(EnginePipeline, StepsOfSingleTokensDoNotOverlap) {
  Pipeline pipeline(file_.path(), kBatch);
  for (const std::int32_t token : prompt(6)) {
    ASSERT_TRUE(pipeline.session->append({&token, 1}));
  }
  const auto times = computed(*pipeline.trace);
  ASSERT_EQ(times.at("test0").size(), 6U);
  for (std::uint64_t step = 1; step < 6; ++step) {
    EXPECT_GE(times.at("test0").at(step).begin, times.at("test1").at(step - 1).end);
  }
}

/// Plans for prompts of one step have inputs once, others once for each step in flight.
TEST_F(EnginePipeline, OnlyPromptsOfSeveralStepsHaveInputsForSeveral) {
  Pipeline whole(file_.path(), kContext);
  Pipeline several(file_.path(), kContext / 2);
  const auto inputs = [](const Pipeline& pipeline) {
    Ledger all = pipeline.model->ledger();
    all.add(pipeline.session->ledger());
    EXPECT_EQ(all.in_buffers(), pipeline.model->predicted().in_buffers());
    return all.total(Purpose::kInputs);
  };
  // Inputs of half the tokens, twice. Each takes at least 64 bytes.
  const auto of_whole = static_cast<double>(inputs(whole));
  EXPECT_NEAR(static_cast<double>(inputs(several)), of_whole, 0.4 * of_whole);
}

TEST_F(EnginePipeline, AppendAllVisitsLogitsInOrder) {
  const auto tokens = prompt(22);
  std::vector<Logits> wanted(tokens.size());
  std::vector<Logits> found(tokens.size());
  Pipeline whole(file_.path(), kContext);
  Pipeline pipeline(file_.path(), kBatch);
  for (const auto& [session, all] :
       {std::pair(whole.session.get(), &wanted), std::pair(pipeline.session.get(), &found)}) {
    std::size_t next = 0;
    ASSERT_TRUE(session->append_all(tokens, [&](std::size_t token, std::span<const float> logits) {
      for (std::size_t at = 0; at < logits.size(); at += 300, ++token) {
        EXPECT_EQ(token, next++);
        (*all)[token].assign(logits.begin() + static_cast<std::ptrdiff_t>(at),
                             logits.begin() + static_cast<std::ptrdiff_t>(at + 300));
      }
    }));
    EXPECT_EQ(next, tokens.size());
  }
  EXPECT_EQ(found, wanted);
}

TEST_F(EnginePipeline, ErrorInAnyStepKeepsTheSessionState) {
  const auto tokens = prompt(17);
  const Logits wanted = expected(tokens);
  std::size_t errors = 0;
  for (std::size_t launch = 1;; launch += 5) {
    Pipeline pipeline(file_.path(), kBatch, launch);
    (launch % 2 == 0 ? pipeline.first : pipeline.second).fail_at({.launch = launch});
    auto logits = pipeline.session->append(tokens);
    const bool failed = !logits;
    if (failed) {
      ++errors;
      EXPECT_EQ(logits.error().code(), ErrorCode::kDevice);
      EXPECT_EQ(pipeline.session->length(), 0);
      logits = pipeline.session->append(tokens);
    }
    ASSERT_TRUE(logits) << logits.error().message();
    EXPECT_EQ(Logits(logits->begin(), logits->end()), wanted) << "launch " << launch;
    if (!failed) break;  // it has fewer launches
  }
  EXPECT_GT(errors, 10U);
}

TEST_F(EnginePipeline, ExceptionOfTheCallerLeavesNoStepInFlight) {
  const auto tokens = prompt(20);
  const Logits wanted = expected(prompt(1));
  Pipeline pipeline(file_.path(), kBatch);
  std::size_t visits = 0;
  const auto visit = [&](std::size_t, std::span<const float>) {
    if (++visits == 2) throw std::bad_alloc();
  };
  EXPECT_FALSE(pipeline.session->append_all(tokens, visit));
  EXPECT_EQ(visits, 2U);
  EXPECT_EQ(pipeline.session->length(), 0);
  const std::size_t computed = pipeline.second.computed();
  (void)pipeline.world.try_to_run_until({});  // whatever is left to do
  EXPECT_EQ(pipeline.second.computed(), computed);
  const auto logits = pipeline.session->append(prompt(1));  // by another plan
  ASSERT_TRUE(logits) << logits.error().message();
  EXPECT_EQ(Logits(logits->begin(), logits->end()), wanted);
}

TEST_F(EnginePipeline, CancelEndsAppendAllBetweenBatches) {
  const auto tokens = prompt(20);
  Pipeline pipeline(file_.path(), kBatch);
  std::atomic<bool> cancel = false;
  std::size_t visits = 0;
  const auto visit = [&](std::size_t, std::span<const float>) {
    ++visits;
    cancel = true;
  };
  const Status cancelled = pipeline.session->append_all(tokens, visit, &cancel);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(visits, 1U);
  EXPECT_EQ(pipeline.session->length(), 0);
}

TEST_F(EnginePipeline, CancelEndsAPromptWithinOneNode) {
  const auto tokens = prompt(30);
  const Logits wanted = expected(tokens);
  for (const std::size_t after : {1U, 20U, 60U, 90U}) {
    Pipeline pipeline(file_.path(), kBatch);
    std::atomic<bool> cancel = false;
    std::size_t launches = 0;
    std::size_t late = 0;
    const auto count = [&](NodeId) {
      late += cancel ? 1 : 0;
      if (++launches == after) cancel = true;
    };
    pipeline.first.on_launch = pipeline.second.on_launch = count;
    auto logits = pipeline.session->append(tokens, &cancel);
    ASSERT_FALSE(logits);
    EXPECT_EQ(logits.error().code(), ErrorCode::kCancelled);
    EXPECT_EQ(pipeline.session->length(), 0);
    // Each segment that was submitted looks once more.
    EXPECT_LE(late, 8U) << "after " << after;
    cancel = false;
    logits = pipeline.session->append(tokens, &cancel);
    ASSERT_TRUE(logits) << logits.error().message();
    EXPECT_EQ(Logits(logits->begin(), logits->end()), wanted);
  }
}

TEST_F(EnginePipeline, PromptOfGenerateOverlapsLikeOneThatIsAppended) {
  const auto tokens = prompt(32);
  Pipeline appended(file_.path(), kBatch);
  ASSERT_TRUE(appended.session->append(tokens));
  Pipeline generated(file_.path(), kBatch);
  const auto result = generate(*generated.session, tokens, {.max_tokens = 1}, {});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(generated.world.host_now(), appended.world.host_now());
}

TEST_F(EnginePipeline, CancelEndsGenerateWithinOneNode) {
  Pipeline pipeline(file_.path(), kBatch);
  std::atomic<bool> cancel = false;
  std::size_t launches = 0;
  std::size_t late = 0;
  pipeline.first.on_launch = pipeline.second.on_launch = [&](NodeId) {
    late += cancel ? 1 : 0;
    if (++launches == 60) cancel = true;
  };
  GenerateOptions options;
  options.cancel = &cancel;
  const auto result = generate(*pipeline.session, prompt(30), options, {});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->stop, StopReason::kCancelled);
  EXPECT_EQ(pipeline.session->length(), 0);
  EXPECT_LE(late, 8U);
}

/// The CPU behind an accelerator.
class EnginePipelineWithCpu : public EnginePipeline, public testing::WithParamInterface<Parts> {
 protected:
  /// Each node of the CPU takes a second of the world's clock, and the other devices run meanwhile.
  static void let_cpu_take_time(Pipeline& pipeline) {
    pipeline.host.on_launch = [&world = pipeline.world](NodeId) {
      (void)world.try_to_run_until({});
      world.host_waited(world.host_now() + 1);
    };
  }
};

TEST_P(EnginePipelineWithCpu, StepsOfAPromptOverlap) {
  const auto tokens = prompt(32);
  const Logits wanted = expected(tokens);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Pipeline pipeline(file_.path(), kBatch, seed, GetParam());
    let_cpu_take_time(pipeline);
    const auto logits = pipeline.session->append(tokens);
    ASSERT_TRUE(logits) << logits.error().message();
    EXPECT_EQ(Logits(logits->begin(), logits->end()), wanted);
    const auto actions = pipeline.trace->actions();
    std::map<std::uint64_t, WorkTimes> accelerator;
    std::map<std::uint64_t, WorkTimes> behind;  // on the CPU, behind the accelerator
    for (const TraceSpan& span : pipeline.trace->spans()) {
      const TraceAction& action = actions[span.action];
      if (action.kind != TraceKind::kSegment) continue;
      (action.stream == "cpu0" ? behind : accelerator)[span.step] = span.times;
    }
    ASSERT_EQ(accelerator.size(), 8U);
    ASSERT_EQ(behind.size(), 8U);
    for (std::uint64_t step = 0; step < 7; ++step) {
      EXPECT_TRUE(overlap(accelerator.at(step + 1), behind.at(step))) << "step " << step;
    }
    // Without overlap it would take as long as both devices are busy: a second for each node.
    const auto busy = static_cast<double>(pipeline.first.computed() + pipeline.host.computed());
    EXPECT_LT(pipeline.world.host_now(), 0.75 * busy) << "seed " << seed;
  }
}

TEST_P(EnginePipelineWithCpu, StepsOfSingleTokensDoNotOverlap) {
  Pipeline pipeline(file_.path(), kBatch, 1, GetParam());
  let_cpu_take_time(pipeline);
  for (const std::int32_t token : prompt(6)) {
    ASSERT_TRUE(pipeline.session->append({&token, 1}));
  }
  const auto times = computed(*pipeline.trace);
  ASSERT_EQ(times.at("test0").size(), 6U);
  for (std::uint64_t step = 1; step < 6; ++step) {
    EXPECT_GE(times.at("test0").at(step).begin, times.at("cpu0").at(step - 1).end);
  }
}

TEST_P(EnginePipelineWithCpu, ErrorInAnyStepKeepsTheSessionState) {
  const auto tokens = prompt(17);
  const Logits wanted = expected(tokens);
  std::size_t errors = 0;
  for (std::size_t launch = 1;; launch += 5) {
    Pipeline pipeline(file_.path(), kBatch, launch, GetParam());
    (launch % 2 == 0 ? pipeline.first : pipeline.host).fail_at({.launch = launch});
    auto logits = pipeline.session->append(tokens);
    const bool failed = !logits;
    if (failed) {
      ++errors;
      EXPECT_EQ(logits.error().code(), ErrorCode::kDevice);
      EXPECT_EQ(pipeline.session->length(), 0);
      logits = pipeline.session->append(tokens);
    }
    ASSERT_TRUE(logits) << logits.error().message();
    EXPECT_EQ(Logits(logits->begin(), logits->end()), wanted) << "launch " << launch;
    if (!failed) break;  // it has fewer launches
  }
  EXPECT_GT(errors, 10U);
}

TEST_P(EnginePipelineWithCpu, CancelEndsAPromptWithinOneNode) {
  const auto tokens = prompt(30);
  const Logits wanted = expected(tokens);
  for (const std::size_t after : {1U, 20U, 60U, 90U}) {
    Pipeline pipeline(file_.path(), kBatch, 1, GetParam());
    std::atomic<bool> cancel = false;
    std::size_t launches = 0;
    std::size_t late = 0;
    pipeline.first.on_launch = pipeline.host.on_launch = [&](NodeId) {
      late += cancel ? 1 : 0;
      if (++launches == after) cancel = true;
    };
    auto logits = pipeline.session->append(tokens, &cancel);
    ASSERT_FALSE(logits);
    EXPECT_EQ(logits.error().code(), ErrorCode::kCancelled);
    EXPECT_EQ(pipeline.session->length(), 0);
    EXPECT_LE(late, 8U) << "after " << after;
    cancel = false;
    logits = pipeline.session->append(tokens, &cancel);
    ASSERT_TRUE(logits) << logits.error().message();
    EXPECT_EQ(Logits(logits->begin(), logits->end()), wanted);
  }
}

std::string name_of(const testing::TestParamInfo<Parts>& layout) {
  return layout.param == Parts::kCpuBehind ? "Behind" : "Around";
}

INSTANTIATE_TEST_SUITE_P(Layouts, EnginePipelineWithCpu,
                         testing::Values(Parts::kCpuBehind, Parts::kCpuAround), name_of);

}  // namespace
}  // namespace shunt::test::engine_pipeline_test
