// Faults of CUDA devices at each call of a decode step: the step is an error or right, and so is
// the next one. A step allocates nothing.
#include <gmock/gmock.h>

#include "backends/cuda/cuda_devices.h"
#include "shunt/engine.h"
#include "support/engine_run.h"
#include "support/models.h"

namespace shunt::test::cuda_decode_faults_test {
namespace {

using testing::FloatNear;
using testing::IsEmpty;
using testing::Pointwise;

// Sanitizers make the twin ten times as slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kStride = 13;
#else
constexpr std::uint64_t kStride = 1;
#endif

const std::vector<std::int32_t> kPrompt = {1, 20, 30, 40, 50};
const std::vector<std::int32_t> kToken = {60};

class CudaDecode : public CudaDevices {
 protected:
  void TearDown() override {
    close();
    if (!twin_.there()) return;
    EXPECT_THAT(twin_.findings(), IsEmpty());
  }
  /// A session that has computed the prompt.
  void load(const std::string& device, DeviceErrorMode mode = DeviceErrorMode::kFail) {
    close();
    twin_.restart();
    open();
    LoadOptions options;
    options.session = small_session();
    options.memory_margin = 0;
    options.placement.rules_only = true;
    options.on_device_error.mode = mode;
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
  void close() {
    session_.reset();
    registry_.reset();
  }
  /// Logits of a decode step, which is taken back.
  Result<std::vector<float>> step() const {
    SHUNT_ASSIGN(const auto logits, session_->append(kToken));
    std::vector<float> kept(logits.begin(), logits.end());
    SHUNT_TRY(session_->truncate(static_cast<std::int64_t>(kPrompt.size())));
    return kept;
  }
  std::uint64_t copies() const {
    return twin_.calls("cuMemcpyHtoDAsync_v2") + twin_.calls("cuMemcpyDtoHAsync_v2") +
           twin_.calls("cuMemcpyDtoDAsync_v2") + twin_.calls("cuMemcpy2DAsync_v2");
  }
  std::uint64_t launches() const { return twin_.calls("cuLaunchKernel"); }
  /// Launches and copies of a step without a fault.
  std::uint64_t work_of_a_step() const {
    const auto before = launches() + copies();
    EXPECT_TRUE(step());
    return launches() + copies() - before;
  }
  SynthModel model_{tiny_shape()};
  std::unique_ptr<Session> session_;
};

TEST_F(CudaDecode, AllocatesNothingInAStep) {
  load("cuda0");
  ASSERT_TRUE(step());
  const auto allocations = [&] {
    return twin_.calls("cuMemAlloc_v2") + twin_.calls("cuMemCreate") +
           twin_.calls("cuMemHostAlloc") + twin_.calls("cuMemAllocManaged") +
           twin_.calls("cuEventCreate") + twin_.calls("cuModuleLoadDataEx");
  };
  const auto before = allocations();
  EXPECT_GT(before, 0U);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(step());
  EXPECT_EQ(allocations(), before);
}

/// A fault of the twin at a call of a step.
class CudaDecodeFaults : public CudaDecode, public testing::WithParamInterface<const char*> {
 protected:
  /// The same with a fault at call `n` of the parameter's kind.
  Result<std::vector<float>> step_with_fault(std::uint64_t n) {
    twin_.set(GetParam(), std::to_string(n).c_str());
    auto logits = step();
    twin_.set(GetParam(), "0");
    return logits;
  }
  void expect_right(const std::vector<float>& logits, std::uint64_t n) const {
    EXPECT_THAT(logits, Pointwise(FloatNear(1e-3F), expected_)) << GetParam() << " " << n;
  }

  std::vector<float> expected_;  // the logits of the CPU
};

TEST_P(CudaDecodeFaults, AreErrorsAndTheNextStepIsRight) {
  load("cpu0");
  expected_ = *step();
  load("cuda0");
  const std::uint64_t calls = work_of_a_step();
  EXPECT_GT(calls, 20U);
  int errors = 0;
  for (std::uint64_t n = 1; n <= calls; n += kStride) {
    const auto logits = step_with_fault(n);
    if (logits) {
      expect_right(*logits, n);
      continue;
    }
    ++errors;
    EXPECT_EQ(logits.error().device(), "cuda0");
    if (const auto again = step()) {
      expect_right(*again, n);
    } else {
      EXPECT_EQ(again.error().device(), "cuda0");
      load("cuda0");  // the device is lost
    }
  }
  EXPECT_GT(errors, 0);
  close();
  EXPECT_EQ(twin_.live(), 0U);
}

TEST_P(CudaDecodeFaults, AreComputedByTheCpuIfThatIsAllowed) {
  load("cpu0");
  expected_ = *step();
  load("cuda0", DeviceErrorMode::kFallback);
  const std::uint64_t calls = work_of_a_step();
  for (std::uint64_t n = 1; n <= calls; n += 5 * kStride) {
    load("cuda0", DeviceErrorMode::kFallback);
    for (int i = 0; i < 2; ++i) {
      const auto logits = i == 0 ? step_with_fault(n) : step();
      ASSERT_TRUE(logits) << GetParam() << " " << n << ": " << logits.error().message();
      expect_right(*logits, n);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaDecodeFaults,
                         testing::Values("CUDA_TWIN_FAIL_LAUNCH", "CUDA_TWIN_FAIL_COPY",
                                         "CUDA_TWIN_FAIL_LATE"),
                         [](const auto& test) { return std::string(test.param).substr(15); });

}  // namespace
}  // namespace shunt::test::cuda_decode_faults_test
