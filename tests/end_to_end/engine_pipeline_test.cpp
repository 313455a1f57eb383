// Prompts over several devices: their steps overlap. Two simulated devices, each with a layer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

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

TestDeviceConfig simulated(std::string name, TestWorld& world) {
  return {.name = std::move(name), .world = &world, .seconds_per_node = 1};
}

/// A model whose layers are on two devices of a world, and a session of it.
struct Pipeline {
  explicit Pipeline(const std::string& path, std::int64_t batch, std::uint64_t seed = 1)
      : world(seed) {
    TraceOptions trace_options;
    trace_options.clock = [this] { return world.host_now(); };
    trace = *Trace::create(std::move(trace_options));
    LoadOptions options;
    options.session = {.context = kContext, .cache_type = DType::kF32, .batch = batch};
    options.session.trace = trace;
    options.memory_margin = 0;
    options.on_device_error.mode = DeviceErrorMode::kFail;
    options.rules_only = true;  // all else goes with the weights
    options.pins = {{"blk\\.0\\..*", "test0"}, {"(blk\\.1|output).*", "test1"}};
    const std::vector<Device*> devices = {&first, &second, &host};
    auto loaded = Model::load(path, devices, options);
    EXPECT_TRUE(loaded) << loaded.error().message();
    model = *loaded;
    auto made = Session::create(model, options.session);
    EXPECT_TRUE(made) << made.error().message();
    session = std::move(*made);
  }

  TestWorld world;
  TestDevice first{simulated("test0", world)};
  TestDevice second{simulated("test1", world)};
  TestDevice host{{.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true}};
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
TEST_F(EnginePipeline, OnlyPromptsOfSeveralStepsTakeMemoryForSeveral) {
  Pipeline whole(file_.path(), kContext);
  Pipeline several(file_.path(), kContext / 2);
  const auto inputs = [](const Pipeline& pipeline) {
    Ledger all = pipeline.model->ledger();
    all.add(pipeline.session->ledger());
    EXPECT_EQ(all, pipeline.model->predicted());
    return all.total(Purpose::kInputs);
  };
  // A mask of half the tokens, twice.
  const auto of_whole = static_cast<double>(inputs(whole));
  EXPECT_NEAR(static_cast<double>(inputs(several)), of_whole, 0.25 * of_whole);
}

TEST_F(EnginePipeline, AllLogitsComeInOrder) {
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

TEST_F(EnginePipeline, AnErrorInAnyStepLeavesTheSessionAsItWas) {
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

TEST_F(EnginePipeline, AnExceptionOfTheCallersLeavesNoStepUnderWay) {
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

}  // namespace
}  // namespace shunt::test::engine_pipeline_test
