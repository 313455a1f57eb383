// A real model on an NVIDIA GPU, by the twin of the driver, as a user runs it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "support/models.h"
#include "support/run_command.h"
#include "support/sanitized.h"
#include "support/shared.h"
#include "support/stories.h"
#include "test_paths.h"

namespace shunt::test::cuda_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kTwin = SHUNT_TEST_CUDA_TWIN;

class CudaModel : public testing::Test {
 protected:
  void SetUp() override {
    if (kTwin.empty()) GTEST_SKIP() << "there is no twin of CUDA's driver in this build";
    const std::string devices = run({"devices"}).out;
    if (devices.find("cuda0") == std::string::npos) GTEST_SKIP() << devices;
  }
  static RunResult run(std::vector<std::string> words, const RunOptions& options = {}) {
    words.insert(words.end(), {"--library", "cuda=" + kTwin});
    return run_command(words, options);
  }
};

TEST_F(CudaModel, BeginsTheSameTextAsTheCpuAlone) {
  const Stories told = stories();
  const std::size_t tokens = kSanitized ? 4 : told.ids.size();
  const RunResult result =
      run({"run", "--model", told.path, "-n", std::to_string(tokens), "--temp", "0", "--prompt",
           told.prompt, "--devices", "cuda0", "--fallback", "deny"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string text = result.out.substr(0, result.out.size() - 1);
  EXPECT_GT(text.size(), told.prompt.size() + 4);
  EXPECT_THAT(told.text, StartsWith(text));
}

TEST_F(CudaModel, EveryOperationPassesVerify) {
  const RunResult result = run({"verify", "--model", stories().path, "--device", "cuda0", "--json",
                                "-n", kSanitized ? "2" : "64", "--prompt", "Once upon a time"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  const auto found = nlohmann::json::parse(result.out);
  EXPECT_EQ(found["wrong"], 0);
  // Where the text is not the CPU's, two candidates have nearly equal logits.
  const auto& logits = found["logits"];
  EXPECT_EQ(logits["devices"], nlohmann::json({"cuda0"}));
  EXPECT_LT(logits["error"], 5e-4) << "that of a product with activations of 8 bits";
  if (!logits["first"].is_null()) {
    EXPECT_LT(logits["first"]["gap"], logits["difference"]);
  }
}

TEST_F(CudaModel, ExplainHasTheDriversMemory) {
  const SynthModel model(tiny_shape());
  const RunResult result = run({"explain", "--model", model.path(), "--devices", "cuda0"},
                               {.environment = {{"CUDA_TWIN_DRIVER_MEMORY", "on"}}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("; the device itself takes "));
  EXPECT_THAT(result.out, HasSubstr("(context 256.0 MiB"));
}

/// A card whose 20th piece of work never ends, and which counts as lost after a second.
class CudaHang : public CudaModel {
 protected:
  static RunResult run_until_it_hangs(std::vector<std::string> words) {
    words.insert(words.end(), {"--set", "cuda.timeout=1"});
    return run(words, {.environment = {{"CUDA_TWIN_FAIL_HANG", "20"}}});
  }
};

TEST_F(CudaHang, RunEndsWithAnErrorThatNamesTheDevice) {
  const SynthModel model(tiny_shape());
  const RunResult result =
      run_until_it_hangs({"run", "--model", model.path(), "-n", "4", "--prompt", "one", "--devices",
                          "cuda0", "--on-device-error", "fail"});
  EXPECT_EQ(result.exit_code, 1) << result.out;
  EXPECT_THAT(result.err, HasSubstr("cuda0"));
  EXPECT_THAT(result.err, HasSubstr("a task did not end within 1 s"));
}

TEST_F(CudaHang, RunGoesOnWithTheCpu) {
  const SynthModel model(tiny_shape());
  const auto words = [&](const char* device) {
    return std::vector<std::string>{"run", "--model",  model.path(), "-n",        "4",   "--temp",
                                    "0",   "--prompt", "one",        "--devices", device};
  };
  std::vector<std::string> with_cuda = words("cuda0");
  with_cuda.insert(with_cuda.end(), {"--on-device-error", "fallback"});
  const RunResult result = run_until_it_hangs(with_cuda);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("a task did not end within 1 s"));
  EXPECT_EQ(result.out, run(words("cpu0")).out);
}

TEST_F(CudaHang, CheckOpsReportsTheCaseAndEnds) {
  const RunResult result =
      run_until_it_hangs({"check-ops", "--device", "cuda0", "--op", "add", "--case-seconds", "5"});
  EXPECT_EQ(result.exit_code, 1) << result.out;
  EXPECT_THAT(result.out + result.err, HasSubstr("a task did not end within 1 s"));
}

/// A wait of the backend is longer than that of the command.
TEST_F(CudaHang, CheckOpsEndsBeforeTheDeviceCountsAsLost) {
  const RunResult result =
      run({"check-ops", "--device", "cuda0", "--op", "add", "--case-seconds", "1"},
          {.environment = {{"CUDA_TWIN_FAIL_HANG", "20"}}});
  EXPECT_EQ(result.exit_code, 1) << result.out;
  EXPECT_THAT(result.err, HasSubstr("cuda0 does not end it although it was cancelled"));
}

TEST_F(CudaModel, BenchmarksCompareATwinWithNoPeak) {
  const SynthModel model(tiny_shape());
  const RunResult result = run({"bench", "model", "--model", model.path(), "--devices", "cuda0",
                                "-p", "2", "-n", "1", "-r", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("cuda0 is a twin"));
}

}  // namespace
}  // namespace shunt::test::cuda_test
