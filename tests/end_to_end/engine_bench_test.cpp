// The least work of a step of a model, counted by hand, and its reported speed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/step_work.h"
#include "schedule/costs/work.h"
#include "shunt/bench.h"
#include "support/engine_run.h"
#include "support/models.h"
#include "support/scripted_meter.h"
#include "support/test_device.h"

namespace shunt::test::engine_bench_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

double amount(const Amounts& work, Peak peak) {
  return work[static_cast<std::size_t>(peak)];
}

/// 2 layers of width 64, feed-forward 192, 4 heads, 2 of keys and values, 512 tokens. Weights in
/// products are 2 * (64 * 64 + 2 * 64 * 32 + 64 * 64 + 3 * 64 * 192) = 98304. The logits have
/// 64 * 512 = 32768.
class EngineBench : public testing::Test {
 protected:
  static constexpr double kInLayers = 98304;
  static constexpr double kForLogits = 32768;

  void load(const SynthOptions& options) {
    file_ = std::make_unique<SynthModel>(options);
    Options runtime;
    runtime.threads = 1;
    registry_ = std::move(*Registry::create(runtime));
    model_ = *Model::load(file_->path(), *registry_);
    session_ = *Session::create(model_, options_);
  }
  Amounts work(std::int64_t tokens, std::int64_t outputs) {
    StepShape shape;
    shape.tokens = tokens;
    shape.outputs = outputs;
    shape.context = 64;
    return *step_work(*model_->state(), shape);
  }
  std::string error_of(const SpeedTest& test, int runs) {
    SpeedOptions how;
    how.runs = runs;
    const auto result = measure_speed(*session_, options_, test, how, nullptr);
    return result ? "" : result.error().message();
  }

  SessionOptions options_{.context = 32, .batch = 8};
  std::unique_ptr<SynthModel> file_;
  std::unique_ptr<Registry> registry_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Session> session_;
};

TEST_F(EngineBench, StepCountsTheMultiplicationsOfEachTokenAndOfLogits) {
  load({.dtype = DType::kQ4_0});
  const Amounts ten = work(10, 1);
  EXPECT_EQ(amount(ten, Peak::kInt8), 2 * (kInLayers * 10 + kForLogits));
  EXPECT_EQ(amount(ten, Peak::kBf16), 0);
  EXPECT_EQ(amount(ten, Peak::kF32), 0);
  EXPECT_EQ(amount(work(10, 0), Peak::kInt8), 2 * kInLayers * 10);
}

TEST_F(EngineBench, StepReadsEachWeightOnceAndOneEmbeddingPerToken) {
  load({.dtype = DType::kQ4_0});
  constexpr double kNorms = 5 * 64 * 4;          // of F32
  constexpr double kEmbedding = 64 * 18.0 / 32;  // a block of 32 has 18 bytes
  const double matrices = (kInLayers + kForLogits) * 18 / 32;
  EXPECT_EQ(amount(work(1, 1), Peak::kRead), matrices + kNorms + kEmbedding);
  EXPECT_EQ(amount(work(3, 1), Peak::kRead), matrices + kNorms + 3 * kEmbedding);
  EXPECT_EQ(amount(work(3, 0), Peak::kRead), kInLayers * 18 / 32 + kNorms + 3 * kEmbedding);
}

TEST_F(EngineBench, TiedEmbeddingIsReadOnce) {
  load({.dtype = DType::kBF16, .tied = true});
  EXPECT_EQ(amount(work(1, 1), Peak::kRead), (kInLayers + kForLogits) * 2 + 5 * 64 * 4);
  EXPECT_EQ(amount(work(1, 1), Peak::kBf16), 2 * (kInLayers + kForLogits));
}

TEST_F(EngineBench, OnlyDeviceIsTheOneWithAllWeights) {
  load({});
  ASSERT_NE(only_device(*model_), nullptr);
  EXPECT_EQ(only_device(*model_)->info().name, "cpu0");
}

TEST_F(EngineBench, RunsAreComparedWithTheirProbesOrThePeaks) {
  load({.dtype = DType::kQ8_0});
  ScriptedMeter meter;
  // Arithmetic that never bounds anything, and reading that is slower than any machine's.
  meter.script = {
      {Peak::kRead, {1000}}, {Peak::kInt8, {1e30}}, {Peak::kBf16, {1e30}}, {Peak::kF32, {1e30}}};
  const auto peaks = measure_peaks(meter);
  ASSERT_TRUE(peaks);
  const SpeedLimits limits{meter, *peaks};
  SpeedOptions how;
  how.runs = 2;
  const auto result = measure_speed(*session_, options_, {true, 3, 4}, how, &limits);
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_EQ(result->runs.size(), 2U);
  EXPECT_EQ(result->bound, Peak::kRead);
  // 3 tokens read all weights; the cache of 2 layers, 2 heads of 16 elements of F16, keys and
  // values, has 256 bytes a token, of which 5, 6 and 7 are there.
  const double weights = amount(work(1, 1), Peak::kRead);
  const double bytes = 3 * weights + (5 + 6 + 7) * 256.0;
  for (const SpeedRun& run : result->runs) {
    ASSERT_TRUE(run.probe);
    EXPECT_EQ(run.probe->before, 1000);
    EXPECT_NEAR(run.share * run.seconds, bytes / 1000, 1e-6 * bytes);
  }
  EXPECT_EQ(session_->length(), 7);
}

/// The limit of a run that is bound by reading: bytes, at 1000 a second.
class EngineBenchSequences : public EngineBench {
 protected:
  EngineBenchSequences() {
    options_.context = 64;
    options_.sequences = 4;
    load({.dtype = DType::kQ8_0});
    meter_.script = {
        {Peak::kRead, {1000}}, {Peak::kInt8, {1e30}}, {Peak::kBf16, {1e30}}, {Peak::kF32, {1e30}}};
  }
  void expect_bytes(const SpeedTest& test, double bytes) {
    const auto peaks = measure_peaks(meter_);
    ASSERT_TRUE(peaks);
    const SpeedLimits limits{meter_, *peaks};
    SpeedOptions how;
    how.runs = 1;
    const auto result = measure_speed(*session_, options_, test, how, &limits);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->bound, Peak::kRead);
    EXPECT_NEAR(result->runs[0].share * result->runs[0].seconds * 1000, bytes, 1e-6 * bytes);
    for (std::int64_t i = 0; i < session_->sequences(); ++i)
      EXPECT_EQ(session_->length(i), i < test.sequences ? test.depth + test.tokens : 0) << i;
  }

  /// 2 layers, 2 heads of 16 elements of F16, keys and values.
  static constexpr double kCacheRow = 256;
  /// A block of 32 has 34 bytes; an embedding, norms, matrices without that of the logits.
  static constexpr double kEmbedding = 64 * 34.0 / 32;
  static constexpr double kWeights = kInLayers * 34 / 32 + 5 * 64 * 4;
  static constexpr double kLogitsMatrix = kForLogits * 34 / 32;

  ScriptedMeter meter_;
};

TEST_F(EngineBenchSequences, GenerationReadsWeightsOnceAndEachCacheSeparately) {
  // Two tokens after 4: rows 5 and 6 of each of three.
  expect_bytes({true, 2, 4, 3},
               2 * (kWeights + kLogitsMatrix + 3 * kEmbedding) + 3 * (5 + 6) * kCacheRow);
  // Of one, as before.
  expect_bytes({true, 2, 4, 1}, 2 * (kWeights + kLogitsMatrix + kEmbedding) + (5 + 6) * kCacheRow);
}

TEST_F(EngineBenchSequences, PromptsSplitOverBatchesCountTheBytesOfEachStep) {
  // Three times 7 tokens after 2 in batches of 8: 7 and 1; 6 and 2; 5. Each one's last token has
  // logits, in another step. Each step looks at the rows of those that are in it.
  expect_bytes({false, 7, 2, 3}, 3 * (kWeights + kLogitsMatrix) + 21 * kEmbedding +
                                     ((9 + 3) + (9 + 4) + 9) * kCacheRow);
}

TEST_F(EngineBenchSequences, StepsWithoutLogitsDoNotReadTheOutputMatrix) {
  // Twice 12 in batches of 8: 8; 4 and 4; 8.
  expect_bytes({false, 12, 0, 2}, 3 * kWeights + 2 * kLogitsMatrix + 24 * kEmbedding +
                                      (8 + (12 + 4) + 12) * kCacheRow);
}

TEST_F(EngineBenchSequences, MoreThanABatchNeedMoreSteps) {
  options_.batch = 3;
  load({.dtype = DType::kQ8_0});
  // A token each: 3, then 1.
  expect_bytes({true, 1, 5, 4},
               2 * (kWeights + kLogitsMatrix) + 4 * kEmbedding + 4 * 6 * kCacheRow);
}

TEST_F(EngineBenchSequences, ThatDoNotFitAreErrors) {
  EXPECT_EQ(error_of({false, 16, 0, 4}, 1), "");
  EXPECT_THAT(error_of({false, 17, 0, 4}, 1),
              AllOf(HasSubstr("17 tokens after 0, in 4 sequences,"), HasSubstr("context of 64")));
  EXPECT_THAT(error_of({true, 8, 9, 4}, 1), HasSubstr("8 tokens after 9, in 4 sequences,"));
  EXPECT_EQ(error_of({true, 8, 8, 4}, 1), "");
  EXPECT_THAT(error_of({false, 1, 0, 5}, 1),
              AllOf(HasSubstr("5 sequences"), HasSubstr("from 1 to the session's 4")));
  EXPECT_THAT(error_of({false, 1, 0, 0}, 1), HasSubstr("0 sequences"));
  EXPECT_THAT(error_of({false, 1, 0, -1}, 1), HasSubstr("-1 sequences"));
  const SpeedTest too_many{false, 1, 0, 5};
  EXPECT_FALSE(warm_up(*session_, std::span(&too_many, 1), 8));
}

TEST_F(EngineBenchSequences, WarmUpLeavesAllSequencesEmpty) {
  const SpeedTest tests[] = {{false, 9, 3, 4}, {true, 4, 8, 2}};
  ASSERT_TRUE(warm_up(*session_, tests, options_.batch));
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(session_->length(i), 0);
}

TEST_F(EngineBench, PromptBoundByArithmeticNeedsNoProbes) {
  load({.dtype = DType::kQ8_0});
  ScriptedMeter meter;
  meter.script = {
      {Peak::kRead, {1e30}}, {Peak::kInt8, {5e5}}, {Peak::kBf16, {1e30}}, {Peak::kF32, {1e30}}};
  const auto peaks = measure_peaks(meter);
  ASSERT_TRUE(peaks);
  const std::size_t before = meter.measured;
  const SpeedLimits limits{meter, *peaks};
  SpeedOptions how;
  how.runs = 1;
  // 20 tokens in batches of 8, 8 and 4; the last has logits.
  const auto result = measure_speed(*session_, options_, {false, 20, 2}, how, &limits);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->bound, Peak::kInt8);
  EXPECT_FALSE(result->runs[0].probe);
  EXPECT_EQ(meter.measured, before);
  const double operations = 2 * (kInLayers * 20 + kForLogits);
  EXPECT_NEAR(result->runs[0].share * result->runs[0].seconds, operations / 5e5, 1e-9);
}

TEST_F(EngineBench, WithoutPeaksReportsOnlyTimes) {
  load({});
  SpeedOptions how;
  how.runs = 3;
  const auto result = measure_speed(*session_, options_, {false, 5, 0}, how, nullptr);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->runs.size(), 3U);
  EXPECT_FALSE(result->bound);
  for (const SpeedRun& run : result->runs) {
    EXPECT_GT(run.seconds, 0);
    EXPECT_FALSE(run.probe);
    EXPECT_EQ(run.share, 0);
  }
}

/// Batches of no tokens can't be predicted; the session has batches of its own.
TEST_F(EngineBench, TestWithoutAPredictionIsStillMeasured) {
  load({});
  SpeedOptions how;
  how.runs = 2;
  const auto predicted = measure_speed(*session_, options_, {false, 5, 0}, how, nullptr);
  ASSERT_TRUE(predicted) << predicted.error().message();
  ASSERT_TRUE(predicted->predicted_seconds);
  EXPECT_GT(*predicted->predicted_seconds, 0);
  SessionOptions odd = options_;
  odd.batch = 0;
  const auto result = measure_speed(*session_, odd, {false, 5, 0}, how, nullptr);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->runs.size(), 2U);
  EXPECT_FALSE(result->predicted_seconds);
}

/// Two layers of 8 tokens, each with 80 keys of width 64: two products, 2 operations a
/// multiply-add.
TEST_F(EngineBench, SequencesThatShareNoBlocksAttendToTheirOwnKeys) {
  load({});
  StepShape shape;
  shape.tokens = 8;
  shape.sequences = 8;
  shape.context = 640;
  shape.table_entries = 10;
  const auto& state = *model_->state();
  const auto step = state.build(shape, state.weights.transcoded());
  ASSERT_TRUE(step) << step.error().message();
  const Graph& graph = (*step)->graph;
  double operations = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!graph.node(id).is_leaf() && graph.node(id).op->info().name == "paged_attention")
      operations += work_of(graph, id).operations;
  }
  EXPECT_EQ(operations, 2.0 * 8 * 80 * 64 * 2 * 2);
}

/// A split model is placed part by part, by other rules than those of a prediction.
TEST_F(EngineBench, SplitModelHasNoPrediction) {
  SynthOptions shape;
  shape.width = 512;
  shape.feed_forward = 512;
  shape.heads = 8;
  shape.kv_heads = 4;
  shape.vocabulary = 300;
  load(shape);
  TestDevice device({.name = "test0"});
  LoadOptions options;
  options.session = options_;
  options.memory_margin = 0;
  SpeedOptions how;
  how.runs = 1;
  for (const bool split : {false, true}) {
    if (split) options.split = {SplitMode::kRows, {1, 1}};
    const auto run = run_engine(file_->path(), {&device, registry_->devices().back()}, options);
    ASSERT_TRUE(run) << run.error().message();
    const auto result = measure_speed(*run->session, options_, {false, 5, 0}, how, nullptr);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->predicted_seconds.has_value(), !split);
  }
}

TEST_F(EngineBench, RejectsInvalidTests) {
  load({});
  EXPECT_EQ(error_of({false, 32, 0}, 1), "");
  EXPECT_THAT(error_of({false, 33, 0}, 1), HasSubstr("33 tokens"));
  EXPECT_THAT(error_of({true, 2, 31}, 1), HasSubstr("context of 32"));
  EXPECT_THAT(error_of({false, 0, 0}, 1), HasSubstr("0 tokens"));
  EXPECT_THAT(error_of({false, 1, -1}, 1), HasSubstr("-1"));
  EXPECT_THAT(error_of({false, 1, 0}, 0), HasSubstr("0 runs"));
  EXPECT_EQ(error_of({true, 1, 31}, 1), "");
  const SpeedTest too_long{false, 40, 0};
  EXPECT_FALSE(warm_up(*session_, std::span(&too_long, 1), 8));
}

TEST_F(EngineBench, WarmUpLeavesTheSessionEmpty) {
  load({});
  const SpeedTest tests[] = {{false, 20, 3}, {true, 4, 8}};
  ASSERT_TRUE(warm_up(*session_, tests, options_.batch));
  EXPECT_EQ(session_->length(), 0);
}

TEST_F(EngineBench, CanBeCancelled) {
  load({});
  const std::atomic<bool> cancel = true;
  SpeedOptions how;
  how.cancel = &cancel;
  const auto result = measure_speed(*session_, options_, {false, 5, 0}, how, nullptr);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace shunt::test::engine_bench_test
