// Faults of CUDA devices at each call of a decode step: the step is an error, or the CPU computes
// it, and the next step is right. A step allocates nothing.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <random>

#include "backends/cuda/cuda_devices.h"
#include "shunt/engine.h"
#include "support/engine_run.h"
#include "support/models.h"
#include "support/sanitized.h"

namespace shunt::test::cuda_decode_faults_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kStride = kSanitized ? 13 : 1;
constexpr int kRandomSteps = kSanitized ? 50 : 1000;

const std::vector<std::int32_t> kPrompt = {1, 20, 30, 40, 50};
/// Steps take turns, so that the results of the last one are wrong for the next.
constexpr std::array<std::int32_t, 2> kTokens = {60, 61};

class CudaDecode : public CudaDevices {
 protected:
  void TearDown() override { close(); }
  /// A session that has computed the prompt.
  void load(const std::string& device, DeviceErrorMode mode = DeviceErrorMode::kFail,
            const char* timeout = "600") {
    close();
    twin_.restart();
    Options registry = twin_.options();
    registry.backend_options["cuda"]["timeout"] = timeout;
    open(registry);
    lines_.clear();
    LoadOptions options;
    options.session = small_session();
    options.memory_margin = 0;
    options.placement.rules_only = true;
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
  /// Nothing is left on the device, and the twin has found nothing.
  void close() {
    session_.reset();
    registry_.reset();
    if (!twin_.there()) return;
    EXPECT_EQ(twin_.live(), 0U);
    EXPECT_THAT(twin_.findings(), IsEmpty());
  }
  /// Logits of a decode step with one of kTokens, which is taken back.
  Result<std::vector<float>> step(std::size_t token) const {
    SHUNT_ASSIGN(const auto logits, session_->append(std::span(&kTokens[token], 1)));
    std::vector<float> kept(logits.begin(), logits.end());
    SHUNT_TRY(session_->truncate(static_cast<std::int64_t>(kPrompt.size())));
    return kept;
  }

  std::uint64_t launches() const { return twin_.calls("cuLaunchKernel"); }
  std::uint64_t copies() const {
    return twin_.calls("cuMemcpyHtoDAsync_v2") + twin_.calls("cuMemcpyDtoHAsync_v2") +
           twin_.calls("cuMemcpyDtoDAsync_v2") + twin_.calls("cuMemcpy2DAsync_v2");
  }

  /// Steps with a fault at a random call. Losses of the driver are left out: its memory is not
  /// freed. Memory that they leave allocated would add up.
  void compute_with_random_faults(int steps);
  /// Steps whose driver is lost at a call: the first one, and later ones until none is lost.
  /// `growth`: the part of the calls so far that is left out next.
  void lose_driver(int stride, double growth);
  /// The same with work that never ends.
  void hang(int stride);

  SynthModel model_{tiny_shape()};
  std::vector<std::string> lines_;  // of DeviceErrorPolicy::log
  std::unique_ptr<Session> session_;
};

TEST_F(CudaDecode, AllocatesNothingInAStep) {
  ASSERT_NO_FATAL_FAILURE(load("cuda0"));
  ASSERT_TRUE(step(0));
  const auto allocations = [&] {
    std::uint64_t sum = 0;
    for (const char* function : {"cuMemAlloc_v2", "cuMemCreate", "cuMemHostAlloc",
                                 "cuMemAllocManaged", "cuMemAddressReserve", "cuEventCreate",
                                 "cuStreamCreate", "cuModuleLoadDataEx", "cuModuleGetFunction"})
      sum += twin_.calls(function);
    return sum;
  };
  const auto before = allocations();
  EXPECT_GT(before, 0U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(step(i % 2));
  EXPECT_EQ(allocations(), before);
}

void CudaDecode::compute_with_random_faults(int steps) {
  std::mt19937 random(7);
  constexpr std::array kFaults = {"CUDA_TWIN_FAIL_ALLOCATION", "CUDA_TWIN_FAIL_PINNED",
                                  "CUDA_TWIN_FAIL_LAUNCH", "CUDA_TWIN_FAIL_COPY",
                                  "CUDA_TWIN_FAIL_LATE"};
  ASSERT_NO_FATAL_FAILURE(load("cuda0"));
  const auto live = twin_.live();
  int errors = 0, losses = 0;
  for (int i = 0; i < steps; ++i) {
    const char* const fault = kFaults[random() % kFaults.size()];
    const bool rare = std::string_view(fault) == "CUDA_TWIN_FAIL_LATE" && random() % 20 != 0;
    twin_.set(fault, rare ? "0" : std::to_string(random() % 100).c_str());
    const auto failed = step(0);
    twin_.set(fault, "0");
    if (failed) continue;
    ++errors;
    if (step(1)) continue;
    ++losses;
    ASSERT_NO_FATAL_FAILURE(load("cuda0"));  // nothing was left of the session before
  }
  EXPECT_EQ(twin_.live(), live);
  EXPECT_GT(errors, steps / 20);
  if (steps >= 1000) {
    EXPECT_GT(losses, steps / 1000) << "late faults are rare";
  }
}

TEST_F(CudaDecode, RandomFaultsLeaveNothingAllocated) {
  compute_with_random_faults(kRandomSteps);
}
/// Of ./dev ci --full.
TEST_F(CudaDecode, DISABLED_TenThousandRandomFaultsLeaveNothingAllocated) {
  compute_with_random_faults(10'000);
}

/// Waiting makes calls too, so a slow machine makes many: later on, every 20th part is tried.
TEST_F(CudaDecode, ADeviceThatIsLostAtACallStaysLost) {
  bool succeeded = false;
  int failed = 0;
  for (int call = 1; call < 1'000'000 && !succeeded;
       call += static_cast<int>(kStride) + call / 20) {
    ASSERT_NO_FATAL_FAILURE(load("cuda0"));
    twin_.set("CUDA_TWIN_FAIL_LOST", std::to_string(call).c_str());
    const auto logits = step(0);
    succeeded = logits.has_value();
    if (!succeeded) {
      ++failed;
      EXPECT_EQ(logits.error().device(), "cuda0") << "call " << call;
      EXPECT_FALSE(step(1)) << "call " << call;
    }
    twin_.set("CUDA_TWIN_FAIL_LOST", "0");
    session_.reset();
    registry_.reset();
    twin_.restart();
  }
  EXPECT_TRUE(succeeded);
  EXPECT_GT(failed, 5);
}

void CudaDecode::lose_driver(int stride, double growth) {
  ASSERT_NO_FATAL_FAILURE(load("cpu0"));
  const auto expected = step(0);
  ASSERT_TRUE(expected) << expected.error().message();
  bool lost = true;
  for (int call = 1; lost; call += stride + static_cast<int>(growth * call)) {
    ASSERT_NO_FATAL_FAILURE(load("cuda0", DeviceErrorMode::kFallback));
    twin_.set("CUDA_TWIN_FAIL_LOST", std::to_string(call).c_str());
    const auto logits = step(0);
    twin_.set("CUDA_TWIN_FAIL_LOST", "0");
    ASSERT_TRUE(logits) << "call " << call << ": " << logits.error().message();
    EXPECT_LT(distance(*logits, *expected), 1e-9) << "call " << call;
    lost = !lines_.empty();
    EXPECT_TRUE(lost || call > 1) << "no call of the step was the last";
    if (lost) {
      EXPECT_THAT(lines_, Contains(HasSubstr("cuda0"))) << "call " << call;
    }
    session_.reset();
    registry_.reset();
    twin_.restart();
  }
}

/// With the CPU as the fallback, a step that loses the driver is computed all the same. Waiting
/// makes calls too, so a slow machine makes many.
TEST_F(CudaDecode, TheCpuComputesAStepThatLosesTheDriver) {
  lose_driver(kSanitized ? 80 : 20, 0.1);
}
/// Of ./dev ci --full.
TEST_F(CudaDecode, DISABLED_TheCpuComputesAStepThatLosesTheDriverAtEachCall) {
  lose_driver(1, 0);
}

void CudaDecode::hang(int stride) {
  ASSERT_NO_FATAL_FAILURE(load("cpu0"));
  const auto expected = step(0), next = step(1);
  ASSERT_TRUE(expected && next);
  const std::string seconds = kSanitized ? "5" : "1";  // enough for a step of the twin
  bool hung = true;
  for (int work = 1; hung; work += stride) {
    ASSERT_NO_FATAL_FAILURE(load("cuda0", DeviceErrorMode::kFallback, seconds.c_str()));
    ASSERT_THAT(lines_, IsEmpty()) << "it is lost before the fault";
    twin_.set("CUDA_TWIN_FAIL_HANG", std::to_string(work).c_str());
    const auto logits = step(0);
    ASSERT_TRUE(logits) << "work " << work << ": " << logits.error().message();
    EXPECT_LT(distance(*logits, *expected), 1e-9) << "work " << work;
    hung = !lines_.empty();
    EXPECT_TRUE(hung || work > 1) << "no work of the step hangs";
    if (hung) {
      EXPECT_THAT(lines_, Contains(HasSubstr("a task did not end within " + seconds + " s")))
          << "work " << work;
    }
    const auto after = step(1);
    ASSERT_TRUE(after) << "work " << work << ": " << after.error().message();
    EXPECT_LT(distance(*after, *next), 1e-9) << "work " << work;
    const auto frees = twin_.calls("cuMemFree_v2"), unmapped = twin_.calls("cuMemUnmap");
    session_.reset();
    registry_.reset();
    if (hung) {
      EXPECT_EQ(twin_.calls("cuMemFree_v2"), frees) << "work " << work;
      EXPECT_EQ(twin_.calls("cuMemUnmap"), unmapped) << "work " << work;
    }
    twin_.set("CUDA_TWIN_FAIL_HANG", "0");
    twin_.restart();
  }
}

/// Work that never ends makes the device lost. The CPU computes the step, and nothing waits for the
/// device when the session ends.
TEST_F(CudaDecode, TheCpuComputesAStepThatHangs) {
  hang(kSanitized ? 60 : 20);
}
/// Of ./dev ci --full.
TEST_F(CudaDecode, DISABLED_TheCpuComputesAStepThatHangsAtEachPieceOfWork) {
  hang(1);
}

/// Another process takes the card's memory before the model is loaded, or before the session is
/// made. The CPU computes the step.
TEST_F(CudaDecode, MemoryThatIsTakenMeanwhileLeavesTheWorkToTheCpu) {
  ASSERT_NO_FATAL_FAILURE(load("cpu0"));
  const auto expected = step(0);
  ASSERT_TRUE(expected) << expected.error().message();
  for (const bool after_load : {false, true}) {
    close();
    twin_.restart();
    open();
    LoadOptions options;
    options.session = small_session();
    options.placement.rules_only = true;
    const auto chosen = registry_->select(std::vector<std::string>{"cuda0"});
    if (!after_load) twin_.set("CUDA_TWIN_FAIL_ALLOCATION", "1+");
    const auto model = Model::load(model_.path(), *chosen, options);
    ASSERT_TRUE(model) << model.error().message();
    if (after_load) twin_.set("CUDA_TWIN_FAIL_ALLOCATION", "1+");
    auto session = Session::create(*model, options.session);
    ASSERT_TRUE(session) << session.error().message();
    session_ = std::move(*session);
    ASSERT_TRUE(session_->append(kPrompt));
    twin_.set("CUDA_TWIN_FAIL_ALLOCATION", "0");
    EXPECT_EQ(launches(), 0U);
    const auto logits = step(0);
    ASSERT_TRUE(logits) << logits.error().message();
    EXPECT_LT(distance(*logits, *expected), 1e-9);
  }
}

struct Fault {
  const char* setting;    ///< of the twin
  bool launches, copies;  ///< the calls that it counts
  bool loses_device;
  const char* late_code = "719";
  bool keeps_context = false;  ///< until the process ends
};

class CudaDecodeFaults : public CudaDecode, public testing::WithParamInterface<Fault> {
 protected:
  /// Two steps of the CPU, to compare with.
  void compute_expected() {
    ASSERT_NO_FATAL_FAILURE(load("cpu0"));
    for (const std::size_t token : {0, 1}) {
      const auto logits = step(token);
      ASSERT_TRUE(logits) << logits.error().message();
      expected_[token] = *logits;
    }
    ASSERT_GT(distance(expected_[0], expected_[1]), 1e-2);
  }
  /// Calls of a step that the fault counts.
  std::uint64_t calls_of_a_step() const {
    const auto calls = [&] {
      return (GetParam().launches ? launches() : 0) + (GetParam().copies ? copies() : 0);
    };
    EXPECT_TRUE(step(1));
    const auto before = calls();
    EXPECT_TRUE(step(0));
    return calls() - before;
  }
  /// A step with a fault at one of its calls.
  Result<std::vector<float>> step_with_fault(std::size_t token, std::uint64_t call) {
    twin_.set("CUDA_TWIN_LATE_CODE", GetParam().late_code);
    twin_.set(GetParam().setting, std::to_string(call).c_str());
    auto logits = step(token);
    twin_.set(GetParam().setting, "0");
    return logits;
  }
  void expect_right(const Result<std::vector<float>>& logits, std::size_t token,
                    std::uint64_t call) const {
    ASSERT_TRUE(logits) << "call " << call << ": " << logits.error().message();
    EXPECT_LT(distance(*logits, expected_[token]), 1e-9) << "call " << call;
  }

  /// After a step with a fault that loses the device.
  void lose_session() {
    const auto releases = [&] { return twin_.calls("cuDevicePrimaryCtxRelease_v2"); };
    const auto before = releases();
    session_.reset();
    registry_.reset();
    EXPECT_EQ(releases(), before + (GetParam().keeps_context ? 0 : 1));
    if (GetParam().keeps_context) twin_.restart();
  }

  std::array<std::vector<float>, 2> expected_;
};

TEST_P(CudaDecodeFaults, AreErrorsAndTheNextStepIsRight) {
  ASSERT_NO_FATAL_FAILURE(compute_expected());
  ASSERT_NO_FATAL_FAILURE(load("cuda0"));
  const std::uint64_t calls = calls_of_a_step();
  EXPECT_GT(calls, 0U);
  for (std::uint64_t call = 1; call <= calls; call += kStride) {
    const std::size_t token = call / kStride % 2;
    const auto failed = step_with_fault(token, call);
    ASSERT_FALSE(failed) << "call " << call;
    EXPECT_EQ(failed.error().device(), "cuda0");
    const auto next = step(token);
    if (GetParam().loses_device) {
      ASSERT_FALSE(next) << "call " << call;
      EXPECT_EQ(next.error().device(), "cuda0");
      lose_session();
      ASSERT_NO_FATAL_FAILURE(load("cuda0"));
    } else {
      expect_right(next, token, call);
    }
  }
}

TEST_P(CudaDecodeFaults, AreComputedByTheCpuIfThatIsAllowed) {
  ASSERT_NO_FATAL_FAILURE(compute_expected());
  ASSERT_NO_FATAL_FAILURE(load("cuda0", DeviceErrorMode::kFallback));
  const std::uint64_t calls = calls_of_a_step();
  for (std::uint64_t call = 1; call <= calls; call += 3 * kStride) {
    ASSERT_NO_FATAL_FAILURE(load("cuda0", DeviceErrorMode::kFallback));
    expect_right(step_with_fault(0, call), 0, call);
    EXPECT_THAT(lines_, Contains(HasSubstr("cuda0"))) << "call " << call;
    const auto before = launches();
    expect_right(step(1), 1, call);
    EXPECT_EQ(launches(), before) << "the CPU computes the next step";
    if (GetParam().loses_device) lose_session();
  }
}

INSTANTIATE_TEST_SUITE_P(
    , CudaDecodeFaults,
    testing::Values(Fault{"CUDA_TWIN_FAIL_LAUNCH", true, false, false},
                    Fault{"CUDA_TWIN_FAIL_COPY", false, true, false},
                    Fault{"CUDA_TWIN_FAIL_LATE", true, true, true},
                    Fault{"CUDA_TWIN_FAIL_LATE", true, true, true, "700"},
                    Fault{"CUDA_TWIN_FAIL_LATE", true, true, true, "214", true},
                    Fault{"CUDA_TWIN_FAIL_LATE", true, true, true, "999", true}),
    [](const auto& test) {
      const std::string name = std::string(test.param.setting).substr(15);
      return name == "LATE" ? name + "_" + test.param.late_code : name;
    });

}  // namespace
}  // namespace shunt::test::cuda_decode_faults_test
