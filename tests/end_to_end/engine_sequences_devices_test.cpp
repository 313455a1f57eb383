// Devices that fail while several sequences are computed together: all of them go on with the same
// logits, or are as they were.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/model_state.h"
#include "support/models.h"
#include "support/test_device.h"

namespace shunt::test::engine_sequences_devices_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Logits = std::vector<float>;
using Tokens = std::vector<std::int32_t>;

/// A device adds up in double precision, the CPU in F32. The difference is units in the last place
/// of logits of about 1. Results of a wrong key are off by tenths.
constexpr float kTolerance = 1e-4F;

/// A call of append_each, or of truncate.
struct Step {
  Tokens first = {};       ///< for sequence 0; maybe none
  Tokens second = {};      ///< for sequence 1
  std::int64_t keep = -1;  ///< tokens of sequence 1; -1: all
};

const std::vector<Step>& steps() {
  static const std::vector<Step> kSteps = {
      {.first = {1, 20, 30}, .second = {7, 8}},
      {.first = {5}, .second = {6}},
      {.second = {100, 101, 102}},
      {.first = {9}},
      {.keep = 1},
      {.first = {11}, .second = {12}},
      {.first = {13, 14, 15, 16}, .second = {17}},
  };
  return kSteps;
}

SessionOptions session_options(std::int64_t sequences) {
  SessionOptions options;
  options.context = 32;
  options.sequences = sequences;
  options.batch = 2;
  options.cache_type = DType::kF32;
  return options;
}

class SequencesDeviceErrors : public ::testing::Test {
 protected:
  struct Run {
    std::shared_ptr<const Model> model = {};
    std::unique_ptr<Session> session = {};
    std::vector<Logits> logits = {};  // of each step
    std::size_t errors = 0;
  };

  SequencesDeviceErrors() {
    registry_ = std::move(*Registry::create({}));
    cpu_ = registry_->devices().back();
    const std::vector<Device*> only = {cpu_};
    Run run;
    load(only, DeviceErrorMode::kFail, {}, 1, run);
    // Each sequence by itself, from its beginning each time.
    Tokens first, second;
    for (const Step& step : steps()) {
      if (step.keep >= 0) second.resize(static_cast<std::size_t>(step.keep));
      Logits both;
      for (auto [all, more] : {std::pair(&first, &step.first), std::pair(&second, &step.second)}) {
        if (more->empty()) continue;
        all->insert(all->end(), more->begin(), more->end());
        EXPECT_TRUE(run.session->truncate(0));
        const auto logits = run.session->append(*all);
        EXPECT_TRUE(logits);
        both.insert(both.end(), logits->begin(), logits->end());
      }
      expected_.push_back(both);
    }
  }

  void load(std::span<Device* const> devices, DeviceErrorMode mode, std::vector<Pin> pins,
            std::int64_t sequences, Run& run) const {
    LoadOptions options;
    options.session = session_options(sequences);
    options.memory_margin = 0;
    options.placement.rules_only = true;  // so that both devices have a share
    options.placement.pins = std::move(pins);
    options.on_device_error.mode = mode;
    auto model = Model::load(file_.path(), devices, options);
    for (int i = 0; i < 3 && !model; ++i) {
      ++run.errors;
      model = Model::load(file_.path(), devices, options);
    }
    ASSERT_TRUE(model) << model.error().message();
    run.model = *model;
    auto session = Session::create(run.model, options.session);
    for (int i = 0; i < 3 && !session; ++i) {
      ++run.errors;
      session = Session::create(run.model, options.session);
    }
    ASSERT_TRUE(session) << session.error().message();
    run.session = std::move(*session);
  }

  /// A step, tried again after an error, which must leave both sequences as they were.
  static void play(const Step& step, Run& run) {
    Session& session = *run.session;
    if (step.keep >= 0) {
      EXPECT_TRUE(session.truncate(step.keep, 1));
      run.logits.emplace_back();
    }
    std::vector<SequenceTokens> more;
    if (!step.first.empty()) more.push_back({0, step.first});
    if (!step.second.empty()) more.push_back({1, step.second});
    if (more.empty()) return;
    const std::int64_t first = session.length(0), second = session.length(1);
    auto logits = session.append_each(more);
    for (int i = 0; i < 3 && !logits; ++i) {
      ++run.errors;
      EXPECT_EQ(logits.error().code(), ErrorCode::kDevice);
      EXPECT_EQ(session.length(0), first);
      EXPECT_EQ(session.length(1), second);
      logits = session.append_each(more);
    }
    ASSERT_TRUE(logits) << logits.error().message();
    run.logits.emplace_back(logits->begin(), logits->end());
  }
  void expect_logits(const Run& run) const {
    ASSERT_EQ(run.logits.size(), expected_.size());
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      ASSERT_EQ(run.logits[i].size(), expected_[i].size()) << "step " << i;
      for (std::size_t j = 0; j < expected_[i].size(); ++j)
        ASSERT_NEAR(run.logits[i][j], expected_[i][j], kTolerance) << "step " << i << ", " << j;
    }
  }

  SynthModel file_{tiny_shape()};
  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
  std::vector<Logits> expected_;
};

TEST_F(SequencesDeviceErrors, AfterAnyFailureBothSequencesContinue) {
  // So little memory that the second has a share of the caches, too.
  std::size_t memory = 20000;
  const auto share_of = [&](const char* name) {
    TestDevice first({.name = "test0", .memory = memory});
    TestDevice second({.name = "test1"});
    const std::vector<Device*> devices = {&first, &second, cpu_};
    Run run;
    load(devices, DeviceErrorMode::kFail, {}, 2, run);
    return run.session->ledger().bytes(name, Purpose::kCache);
  };
  while (memory < 100000 && share_of("test0") == 0) memory += 500;
  ASSERT_GT(share_of("test1"), 0U);
  for (const DeviceErrorMode mode : {DeviceErrorMode::kFail, DeviceErrorMode::kFallback}) {
    std::size_t left_out = 0;
    std::size_t errors = 0;
    for (std::size_t n = 1; !HasFailure(); n += 7) {
      SCOPED_TRACE(n);
      TestDevice first({.name = "test0", .memory = memory});
      TestDevice second({.name = "test1"});
      const std::vector<Device*> devices = {&first, &second, cpu_};
      first.fail_at({.any = n, .for_good = mode == DeviceErrorMode::kFallback && n % 2 == 0});
      Run run;
      load(devices, mode, {}, 2, run);
      for (const Step& step : steps()) play(step, run);
      expect_logits(run);
      if (!first.has_failed()) break;
      errors += run.errors;
      if (run.model->state()->devices.size() == 2) ++left_out;
    }
    EXPECT_EQ(left_out > 30, mode == DeviceErrorMode::kFallback) << left_out;
    EXPECT_EQ(errors > 30, mode == DeviceErrorMode::kFail) << errors;
  }
}

TEST_F(SequencesDeviceErrors, RemainingCachesAreCopiedAndLostOnesRecomputed) {
  for (const bool cache_is_lost : {false, true}) {
    // Between any two steps, so that either sequence is the longer one.
    for (std::size_t at = 1; at < steps().size(); ++at) {
      SCOPED_TRACE(at);
      TestDevice device({.name = "test0"});
      const std::vector<Device*> devices = {&device, cpu_};
      Run run;
      load(devices, DeviceErrorMode::kFallback,
           {{".* of layer .*", cache_is_lost ? "test0" : "cpu0"}}, 2, run);
      ASSERT_TRUE(run.session);
      EXPECT_EQ(run.session->ledger().bytes("test0", Purpose::kCache) > 0, cache_is_lost);
      std::int64_t held = 0;
      for (std::size_t i = 0; i < steps().size(); ++i) {
        if (i == at) {
          held = run.session->length(0) + run.session->length(1);
          if (steps()[i].keep >= 0) held -= run.session->length(1) - steps()[i].keep;
          device.fail_at({.any = 1, .for_good = true});
        }
        play(steps()[i], run);
      }
      expect_logits(run);
      EXPECT_EQ(run.errors, 0U);
      EXPECT_EQ(run.model->state()->devices.size(), 1U);
      if (cache_is_lost) {
        EXPECT_THAT(run.session->notes(),
                    Contains("the cache of " + std::to_string(held) +
                             " tokens is lost with test0; it is computed again"));
      } else {
        EXPECT_THAT(run.session->notes(), Not(Contains(HasSubstr("computed again"))));
      }
    }
  }
}

/// A failed step leaves NaN in rows of its sequence. A mask hides them from the other sequence.
TEST_F(SequencesDeviceErrors, RowsOfAFailedStepDoNotAffectAnotherSequence) {
  bool poison = false;
  std::size_t launches = 0;
  TestDeviceConfig config = {.name = "test0"};
  config.wrong["matmul"] = [&](RefTensor& result) {
    if (!poison) return;
    for (double& value : result.data) value = std::numeric_limits<double>::quiet_NaN();
  };
  TestDevice device(config);
  device.on_launch = [&](NodeId) { ++launches; };
  const std::vector<Device*> devices = {&device, cpu_};
  Run run;
  load(devices, DeviceErrorMode::kFail, {}, 2, run);
  Session& session = *run.session;
  ASSERT_GT(session.ledger().bytes("test0", Purpose::kCache), 0U);
  const Tokens first = {1}, more = {20, 30}, second = {7, 8};
  const std::vector<SequenceTokens> of_second = {{1, second}};
  const auto append_second = [&]() -> Logits {
    const auto logits = session.append_each(of_second);
    EXPECT_TRUE(logits) << logits.error().message();
    return logits ? Logits(logits->begin(), logits->end()) : Logits();
  };
  ASSERT_TRUE(session.append(first));
  launches = 0;
  const Logits wanted = append_second();
  const std::size_t in_a_step = launches;
  ASSERT_TRUE(session.truncate(0, 1));
  poison = true;
  device.fail_at({.launch = in_a_step});  // the last one: all rows have been written
  ASSERT_FALSE(session.append(more));
  poison = false;
  EXPECT_EQ(append_second(), wanted);
  EXPECT_THAT(session.notes(), Not(Contains(HasSubstr("computed again"))));
  // The first sequence still has its token.
  ASSERT_TRUE(session.truncate(0, 1));
  const auto logits = session.append(more);
  ASSERT_TRUE(logits) << logits.error().message();
  const Logits after(logits->begin(), logits->end());
  ASSERT_TRUE(session.truncate(0, 0));
  ASSERT_TRUE(session.append(first));
  const auto again = session.append(more);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(after, Logits(again->begin(), again->end()));
}

TEST_F(SequencesDeviceErrors, LogitsComputedBeforeTheFailureAreKept) {
  const Tokens prompt = {1, 20, 30}, shorter = {5}, longer = {6, 7, 8, 9, 10};
  const std::vector<Device*> only = {cpu_};
  Run alone;
  load(only, DeviceErrorMode::kFail, {}, 1, alone);
  Logits expected;
  for (const Tokens* more : {&shorter, &longer}) {
    ASSERT_TRUE(alone.session->truncate(0));
    ASSERT_TRUE(alone.session->append(prompt));
    const auto logits = alone.session->append(*more);
    ASSERT_TRUE(logits);
    expected.insert(expected.end(), logits->begin(), logits->end());
  }
  // In batches of 2: the shorter one is done in the first step, the cache is lost in any of three.
  std::size_t n = 1;
  for (;; n += 3) {
    SCOPED_TRACE(n);
    TestDevice device({.name = "test0"});
    const std::vector<Device*> devices = {&device, cpu_};
    Run run;
    load(devices, DeviceErrorMode::kFallback, {{".* of layer .*", "test0"}}, 2, run);
    const std::vector<SequenceTokens> start = {{0, prompt}, {1, prompt}};
    ASSERT_TRUE(run.session->append_each(start));
    device.fail_at({.launch = n, .for_good = true});
    const std::vector<SequenceTokens> more = {{1, shorter}, {0, longer}};
    const auto logits = run.session->append_each(more);
    ASSERT_TRUE(logits) << logits.error().message();
    ASSERT_EQ(logits->size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR((*logits)[i], expected[i], kTolerance) << i;
    EXPECT_EQ(run.session->length(1), 4);
    if (!device.has_failed()) break;
    EXPECT_THAT(run.session->notes(), Contains(HasSubstr("computed again")));
  }
  EXPECT_GT(n, 60U);
}

}  // namespace
}  // namespace shunt::test::engine_sequences_devices_test
