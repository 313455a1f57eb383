// A real model on an Ascend NPU, by the twin of CANN, as a user runs it.
#include <gmock/gmock.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "support/ascend_twin.h"
#include "support/models.h"
#include "support/run_command.h"
#include "support/sanitized.h"
#include "support/stories.h"

namespace shunt::test::cann_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using Layout = AscendTwin::Layout;

class CannModel : public testing::Test {
 protected:
  void SetUp() override {
    if (AscendTwin::folder_of(Layout::kWhole).empty())
      GTEST_SKIP() << "there is no twin of CANN in this build";
    ASSERT_THAT(run({"devices"}).out, HasSubstr("cann0"));
  }
  static RunResult run(std::vector<std::string> words, const char* profile = "910b",
                       Layout layout = Layout::kWhole) {
    words.insert(words.end(), {"--library", "cann=" + AscendTwin::folder_of(layout)});
    return run_command(
        words, {.environment = {{"ASCEND_TWIN_PROFILE", profile}, {"ASCEND_TWIN_STRICT", "abort"}},
                .timeout = std::chrono::seconds(600)});
  }
  static std::vector<std::string> greedy(const std::string& path, std::size_t tokens,
                                         const char* fallback, const char* device = "cann0") {
    return {"run",      "--model",   path,        "-n",   std::to_string(tokens), "--temp", "0",
            "--prompt", "Once upon", "--devices", device, "--fallback",           fallback};
  }
};

/// Weights in F32: then both devices multiply the same numbers.
TEST_F(CannModel, TextOfA910BIsThatOfTheCpu) {
  const F32Stories model;
  const std::size_t tokens = kSanitized ? 4 : 64;
  const RunResult cpu = run_command(greedy(model.path(), tokens, "allow", "cpu0"));
  ASSERT_EQ(cpu.exit_code, 0) << cpu.err;
  for (const Layout layout : {Layout::kWhole, Layout::kSplit}) {
    for (const char* graph : {"on", "off"}) {
      if (kSanitized && (layout == Layout::kSplit) != (std::string_view(graph) == "off")) continue;
      auto with_graph = greedy(model.path(), tokens, "deny");
      with_graph.insert(with_graph.end(), {"--set", std::string("cann.graph=") + graph});
      const RunResult cann = run(with_graph, "910b", layout);
      EXPECT_EQ(cann.exit_code, 0) << cann.err;
      EXPECT_EQ(cann.out, cpu.out) << "graph " << graph;
    }
  }
}

TEST_F(CannModel, A910BComputesEachOperationOfTheModel) {
  const RunResult result =
      run({"explain", "--model", stories().path, "--devices", "cann0", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto found = nlohmann::json::parse(result.out);
  EXPECT_EQ(found["fell_back"], 0);
  EXPECT_EQ(found["devices"][0]["name"], "cann0");
  EXPECT_EQ(found["devices"][0]["operations"], found["operations"]);
}

/// Plans may still give an operation to the CPU because it is faster there.
TEST_F(CannModel, NoOperationFallsBackOnAnyChip) {
  for (const char* profile : {"910b", "310p", "310b"}) {
    const RunResult result = run({"explain", "--model", stories().path, "--devices", "cann0",
                                  "--transcode", "lossy", "--json"},
                                 profile);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(nlohmann::json::parse(result.out)["fell_back"], 0) << profile;
  }
}

TEST_F(CannModel, EveryOperationPassesVerify) {
  const RunResult result = run({"verify", "--model", stories().path, "--device", "cann0", "--json",
                                "-n", kSanitized ? "2" : "8", "--prompt", "Once upon a time"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  const auto found = nlohmann::json::parse(result.out);
  EXPECT_EQ(found["wrong"], 0);
  const auto& logits = found["logits"];
  EXPECT_EQ(logits["devices"], nlohmann::json({"cann0"}));
  EXPECT_LT(logits["error"], 5e-4);
  if (!logits["first"].is_null()) {
    EXPECT_LT(logits["first"]["gap"], logits["difference"]);
  }
}

/// Chips that multiply F16 only compute the products of a model whose weights may be F16.
TEST_F(CannModel, OtherChipsTellTheStoryWithTheHelpOfTheCpu) {
  const Stories told = stories();
  for (const char* profile : {"310p", "310b"}) {
    auto words = greedy(told.path, kSanitized ? 2 : 16, "allow");
    words.insert(words.end(), {"--transcode", "lossy"});
    const RunResult result = run(words, profile);
    EXPECT_EQ(result.exit_code, 0) << profile << ": " << result.err;
    EXPECT_THAT(result.out, StartsWith("Once upon a time")) << profile;
    EXPECT_THAT(result.err, HasSubstr("cann0: ")) << profile;
  }
}

/// A device that is lost in the middle of a text.
TEST_F(CannModel, ALostDeviceIsAnErrorOrLeavesTheTextToTheCpu) {
  const SynthModel model(tiny_shape());
  const auto run_lost = [&](const char* on_error) {
    auto words = greedy(model.path(), 4, "allow");
    words.insert(words.end(), {"--on-device-error", on_error, "--library",
                               "cann=" + AscendTwin::folder_of(Layout::kWhole)});
    return run_command(words, {.environment = {{"ASCEND_TWIN_FAIL_LOST", "2000"}}});
  };
  const RunResult failed = run_lost("fail");
  EXPECT_EQ(failed.exit_code, 1) << failed.out;
  EXPECT_THAT(failed.err, HasSubstr("cann0"));
  EXPECT_THAT(failed.err, HasSubstr("507010"));
  const RunResult result = run_lost("fallback");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, run_command(greedy(model.path(), 4, "allow", "cpu0")).out);
}

}  // namespace
}  // namespace shunt::test::cann_test
