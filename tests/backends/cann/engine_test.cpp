// Models on CANN devices, compared with the CPU: types of weights, two devices, one that is too
// small. Decode steps: counts of the twin, and faults.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "backends/cann/cann_devices.h"
#include "engine/model_state.h"
#include "support/engine_run.h"
#include "support/models.h"
#include "support/sanitized.h"

namespace shunt::test::cann_engine_test {
namespace {

using testing::Contains;
using testing::HasSubstr;

double distance(const EngineRun& a, const EngineRun& b) {
  return test::distance(a.logits, b.logits);
}

class CannEngine : public CannDevices {
 protected:
  static LoadOptions load_options() {
    LoadOptions options;
    options.session = small_session();
    options.memory_margin = 0;
    options.placement.rules_only = true;
    return options;
  }
  Result<EngineRun> run(const std::string& path, const std::vector<std::string>& names,
                        const LoadOptions& options = load_options()) const {
    SHUNT_ASSIGN(const auto chosen, registry_->select(names));
    return run_engine(path, chosen, options, 32, options.session.cache_type);
  }
  /// The devices that compute a step.
  static std::set<std::string> used(const EngineRun& run) {
    std::set<std::string> names;
    for (const LedgerRow& row : run.session->ledger().rows) {
      if (row.purpose == Purpose::kActivations) names.insert(row.device);
    }
    return names;
  }
};

struct TypeCase {
  DType type;
  double error;  ///< allowed, against the CPU, which rounds activations to 8 bits for some
};

class CannEngineTypes : public CannEngine, public testing::WithParamInterface<TypeCase> {};

TEST_P(CannEngineTypes, MatchTheCpu) {
  SynthOptions shape;
  shape.dtype = GetParam().type;
  shape.width = shape.feed_forward = 256;
  const SynthModel model(shape);
  const auto cann = run(model.path(), {"cann0"});
  const auto cpu = run(model.path(), {"cpu0"});
  ASSERT_TRUE(cann) << cann.error().message();
  ASSERT_TRUE(cpu) << cpu.error().message();
  EXPECT_LT(distance(*cann, *cpu), GetParam().error);
  EXPECT_THAT(used(*cann), Contains("cann0"));
}

INSTANTIATE_TEST_SUITE_P(, CannEngineTypes,
                         testing::Values(TypeCase{DType::kF32, 1e-9}, TypeCase{DType::kF16, 2e-6},
                                         TypeCase{DType::kQ8_0, 1e-3}, TypeCase{DType::kQ4_0, 1e-3},
                                         TypeCase{DType::kQ4_K, 1e-3}),
                         [](const auto& test) { return std::string(to_string(test.param.type)); });

TEST_F(CannEngine, TwoDevicesGiveTheTextOfOne) {
  const SynthModel model;
  auto alone = run(model.path(), {"cann0"});
  ASSERT_TRUE(alone) << alone.error().message();
  alone->session.reset();
  alone->model.reset();
  for (const char* peers : {"on", "off"}) {
    reopen({{"DEVICES", "2"}, {"PEERS", peers}});
    LoadOptions options = load_options();
    options.placement.pins = {{"blk\\.1\\..*", "cann1"}};
    const auto both = run(model.path(), {"cann0", "cann1"}, options);
    ASSERT_TRUE(both) << both.error().message();
    EXPECT_THAT(used(*both), testing::IsSupersetOf({"cann0", "cann1"}));
    EXPECT_EQ(both->tokens, alone->tokens);
    EXPECT_LT(distance(*both, *alone), 1e-12);
    EXPECT_EQ(twin_.count(AscendCount::kCopiesWithin) > 0, std::string_view(peers) == "on");
  }
}

struct Fused {
  const char* name;
  const char* profile;
  std::int64_t kv_heads;
  const char* function;
  const char* graph;
};
class CannEngineFused : public CannEngine, public testing::WithParamInterface<Fused> {};

/// Attention by one operator, in steps that are captured, or whose calls are kept.
TEST_P(CannEngineFused, AttentionOverCachesOfF16MatchesTheCpu) {
  SynthOptions shape;
  shape.dtype = DType::kF16;
  shape.width = 128;
  shape.heads = 4;
  shape.kv_heads = GetParam().kv_heads;
  const SynthModel model(shape);
  LoadOptions options = load_options();
  options.session.cache_type = DType::kF16;
  reopen({{"PROFILE", GetParam().profile}}, with("graph", GetParam().graph));
  const auto cpu = run(model.path(), {"cpu0"}, options);
  ASSERT_TRUE(cpu) << cpu.error().message();
  const auto cann = run(model.path(), {"cann0"}, options);
  ASSERT_TRUE(cann) << cann.error().message();
  EXPECT_GT(twin_.calls(GetParam().function), 0U);
  EXPECT_EQ(cann->tokens, cpu->tokens);
  EXPECT_LT(distance(*cann, *cpu), 3e-6);
}

INSTANTIATE_TEST_SUITE_P(
    , CannEngineFused,
    testing::Values(Fused{"Captured910B", "910b", 2, "aclnnFusedInferAttentionScoreV2", "on"},
                    Fused{"Kept910B", "910b", 2, "aclnnFusedInferAttentionScoreV2", "off"},
                    Fused{"Captured310P", "310p", 4, "aclnnIncreFlashAttentionV4", "on"},
                    Fused{"Kept310P", "310p", 4, "aclnnIncreFlashAttentionV4", "off"}),
    [](const auto& test) { return std::string(test.param.name); });

/// Each of two plans takes 20 MiB for workspace, so that some layers are left to the CPU.
TEST_F(CannEngine, ADeviceThatIsTooSmallSharesWithTheCpu) {
  constexpr const char* kSmallDevice = "50331648";  // 48 MiB
  SynthOptions shape;
  shape.width = shape.feed_forward = 256;
  shape.layers = 6;
  const SynthModel model(shape);
  const auto cpu = run(model.path(), {"cpu0"});
  ASSERT_TRUE(cpu) << cpu.error().message();
  reopen({{"MEMORY", kSmallDevice}});
  {
    const auto shared = run(model.path(), {"cann0"});
    ASSERT_TRUE(shared) << shared.error().message();
    EXPECT_THAT(used(*shared), testing::IsSupersetOf({"cann0", "cpu0"}));
    EXPECT_EQ(shared->tokens, cpu->tokens);
  }
}

/// Each chip on its own computes some layers, whatever the other half is.
TEST_F(CannEngine, OtherChipsComputeModelsOfF16) {
  SynthOptions shape;
  shape.dtype = DType::kF16;
  const SynthModel model(shape);
  const auto cpu = run(model.path(), {"cpu0"});
  ASSERT_TRUE(cpu) << cpu.error().message();
  for (const char* profile : {"310p", "310b"}) {
    reopen({{"PROFILE", profile}});
    const auto cann = run(model.path(), {"cann0"});
    ASSERT_TRUE(cann) << profile << ": " << cann.error().message();
    EXPECT_THAT(used(*cann), Contains("cann0")) << profile;
    EXPECT_LT(distance(*cann, *cpu), 3e-6) << profile;
  }
}

struct RandomFaults;

/// A decode step, which is taken back.
class CannDecode : public CannEngine {
 protected:
  static constexpr std::array<std::int32_t, 2> kTokens = {60, 61};
  const std::vector<std::int32_t> kPrompt = {1, 20, 30, 40, 50};

  void TearDown() override {
    session_.reset();
    CannEngine::TearDown();
  }
  void load(const std::string& device, DeviceErrorMode mode = DeviceErrorMode::kFail,
            Settings settings = {}) {
    load(device, mode, settings, twin_.options());
  }
  void load(const std::string& device, DeviceErrorMode mode, Settings settings,
            const Options& of_registry) {
    session_.reset();
    reopen(settings, of_registry);
    lines_.clear();
    LoadOptions options = load_options();
    options.on_device_error.mode = mode;
    options.on_device_error.log = [this](std::string_view line) { lines_.emplace_back(line); };
    const auto chosen = registry_->select(std::vector{device});
    ASSERT_TRUE(chosen) << chosen.error().message();
    const auto model = Model::load(model_.path(), *chosen, options);
    ASSERT_TRUE(model) << model.error().message();
    auto session = Session::create(*model, options.session);
    ASSERT_TRUE(session) << session.error().message();
    session_ = std::move(*session);
    const auto logits = session_->append(kPrompt);
    ASSERT_TRUE(logits) << logits.error().message();
  }
  Result<std::vector<float>> step(std::size_t token) const {
    SHUNT_ASSIGN(const auto logits, session_->append(std::span(&kTokens[token], 1)));
    std::vector<float> kept(logits.begin(), logits.end());
    SHUNT_TRY(session_->truncate(static_cast<std::int64_t>(kPrompt.size())));
    return kept;
  }
  /// Logits of the CPU for each of the tokens.
  void compute_expected() {
    ASSERT_NO_FATAL_FAILURE(load("cpu0"));
    for (std::size_t token = 0; token < expected_.size(); ++token) {
      const auto logits = step(token);
      ASSERT_TRUE(logits) << logits.error().message();
      expected_[token] = *logits;
    }
    ASSERT_GT(test::distance(expected_[0], expected_[1]), 1e-2);
  }
  void expect_right(const Result<std::vector<float>>& logits, std::size_t token) const {
    ASSERT_TRUE(logits) << logits.error().message();
    EXPECT_LT(test::distance(*logits, expected_[token]), 1e-9);
  }

  void inject(const RandomFaults& random_faults, int steps);
  void inject_into_calls(int steps);
  void inject_into_replays(int steps);

  SynthModel model_{tiny_shape()};
  std::unique_ptr<Session> session_;
  std::vector<std::string> lines_;
  std::array<std::vector<float>, 2> expected_;
};

TEST_F(CannDecode, AStepIsAReplayAndOneCopyEachWay) {
  ASSERT_NO_FATAL_FAILURE(load("cann0"));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(step(0));
  const auto count = [&](AscendCount counter) { return twin_.count(counter); };
  const auto replays = count(AscendCount::kReplays), captures = count(AscendCount::kCaptures);
  const auto launches = count(AscendCount::kSecondPhases);
  const auto memory = count(AscendCount::kDeviceAllocations);
  const auto drains = count(AscendCount::kDrains);
  const auto to_device = count(AscendCount::kCopiesToDevice);
  const auto to_host = count(AscendCount::kCopiesToHost);
  ASSERT_TRUE(step(1));
  EXPECT_EQ(count(AscendCount::kReplays), replays + 1);
  EXPECT_EQ(count(AscendCount::kCaptures), captures);
  EXPECT_EQ(count(AscendCount::kSecondPhases), launches);
  EXPECT_EQ(count(AscendCount::kDeviceAllocations), memory);
  EXPECT_EQ(count(AscendCount::kDrains), drains);
  EXPECT_LE(count(AscendCount::kCopiesToDevice), to_device + 1);
  EXPECT_LE(count(AscendCount::kCopiesToHost), to_host + 2) << "logits and counters of checks";
}

struct DecodeFault {
  const char* setting;
  const char* late_code = "507015";
  bool loses_device = false;
};
class CannDecodeFaults : public CannDecode, public testing::WithParamInterface<DecodeFault> {};

constexpr int kStride = kSanitized ? 1 : 4;

/// With the fault at each place of a step: the step is an error and the next one is right, or the
/// CPU computes both.
TEST_P(CannDecodeFaults, AreErrorsOrComputedByTheCpuAndTheNextStepIsRight) {
  ASSERT_NO_FATAL_FAILURE(compute_expected());
  int failed = 0;
  bool done = false;
  for (int n = 1; n < 10'000 && !done; n += 1 + n / kStride) {
    for (const auto mode : {DeviceErrorMode::kFail, DeviceErrorMode::kFallback}) {
      SCOPED_TRACE(n);
      ASSERT_NO_FATAL_FAILURE(load("cann0", mode, {{"LATE_CODE", GetParam().late_code}}));
      twin_.set(GetParam().setting, std::to_string(n));
      lost_ = GetParam().loses_device;
      const auto first = step(0);
      twin_.set(GetParam().setting, "0");
      if (mode == DeviceErrorMode::kFallback) {
        expect_right(first, 0);
        expect_right(step(1), 1);
        if (!done) {
          EXPECT_THAT(lines_, Contains(HasSubstr("cann0")));
        }
      } else if (first) {
        expect_right(first, 0);
        done = true;
      } else {
        ++failed;
        EXPECT_EQ(first.error().device(), "cann0");
        const auto next = step(1);
        if (GetParam().loses_device) {
          EXPECT_FALSE(next);
        } else {
          expect_right(next, 1);
        }
      }
    }
  }
  EXPECT_TRUE(done);
  EXPECT_GT(failed, 2);
}

INSTANTIATE_TEST_SUITE_P(, CannDecodeFaults,
                         testing::Values(DecodeFault{"FAIL_FIRST_PHASE"},
                                         DecodeFault{"FAIL_LAUNCH"}, DecodeFault{"FAIL_LATE"},
                                         DecodeFault{"FAIL_LATE", "507054", true},
                                         DecodeFault{"FAIL_LOST", "507015", true}),
                         [](const auto& test) {
                           const std::string name = std::string(test.param.setting).substr(5);
                           return name + "_" + test.param.late_code;
                         });

struct RandomFaults {
  std::vector<const char*> faults;
  int places = 1;  ///< of a step: from the first to this one
  Options options;
};

/// Steps with a fault at a random place. Nothing stays allocated, and the steps between are right.
void CannDecode::inject(const RandomFaults& random_faults, int steps) {
  ASSERT_NO_FATAL_FAILURE(compute_expected());
  ASSERT_NO_FATAL_FAILURE(load("cann0", DeviceErrorMode::kFail, {}, random_faults.options));
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same faults each time
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  int errors = 0;
  for (int i = 0; i < steps; ++i) {
    const char* const fault = random_faults.faults[below(random_faults.faults.size())];
    const std::size_t place = 1 + below(static_cast<std::size_t>(random_faults.places));
    twin_.set(fault, std::to_string(place));
    const std::size_t token = below(kTokens.size());
    const auto faulty = step(token);
    twin_.set(fault, "0");
    if (faulty) expect_right(faulty, token);
    errors += faulty ? 0 : 1;
    expect_right(step(1 - token), 1 - token);
    ASSERT_FALSE(HasFailure()) << "step " << i << ", " << fault << " " << place;
  }
  EXPECT_GT(errors, steps / 2);
}

/// Call by call, so that each step has all calls.
void CannDecode::inject_into_calls(int steps) {
  Options options = with("graph", "off");
  options.backend_options["cann"]["executors"] = "0";
  inject({{"FAIL_FIRST_PHASE", "FAIL_LAUNCH", "FAIL_LATE"}, 60, options}, steps);
}

/// A captured step has three tasks: a copy, a replay, a copy.
void CannDecode::inject_into_replays(int steps) {
  inject({{"FAIL_LATE"}, 3, twin_.options()}, steps);
}

TEST_F(CannDecode, RandomFaultsOfCallsLeaveNothingBehind) {
  inject_into_calls(kSanitized ? 30 : 300);
}

TEST_F(CannDecode, RandomFaultsOfReplaysLeaveNothingBehind) {
  inject_into_replays(kSanitized ? 30 : 300);
}

// `./dev ci --full` runs these.
TEST_F(CannDecode, DISABLED_TenThousandRandomFaultsOfCallsLeaveNothingBehind) {
  inject_into_calls(10000);
}

TEST_F(CannDecode, DISABLED_TenThousandRandomFaultsOfReplaysLeaveNothingBehind) {
  inject_into_replays(10000);
}

}  // namespace
}  // namespace shunt::test::cann_engine_test
