// The decisions about devices' memory, as `shunt run` reports them, and the operations that may not
// run then. One plugin's test0 has matmul and add and 1 GiB, which in another one is the host's. A
// third one's has everything, but refuses memory when it is first asked for some.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "support/big_endian.h"
#include "support/models.h"
#include "support/run_command.h"
#include "test_paths.h"

namespace shunt::test::run_notes_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kRefused = "test0: refused memory for weights out of ";

class RunNotes : public testing::Test {
 protected:
  // Otherwise loading on a big-endian machine has a note about the byte order of weights.
  RunNotes() { to_native_order(model_.path()); }
  RunResult run(const std::string& plugins, const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"run", "-m",     model_.path(), "-p",          "Hello",
                                      "-n",  "8",      "-c",          "64",          "-b",
                                      "8",   "--temp", "0",           "--ignore-eos"};
    words.insert(words.end(), more.begin(), more.end());
    RunOptions options;
    options.environment["SHUNT_BACKEND_PATH"] = plugins;
    return run_command(words, options);
  }
  SynthModel model_;
};

TEST_F(RunNotes, FailedAllocationIsReportedInSummaryAndJson) {
  const RunResult result = run(SHUNT_TEST_STINGY_PLUGINS, {});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, run(SHUNT_TEST_STINGY_PLUGINS, {"--devices", "cpu0"}).out);
  EXPECT_THAT(result.err, HasSubstr("shunt: " + std::string(kRefused)));
  const std::string summary = result.err.substr(result.err.find("\nmodel  "));
  EXPECT_THAT(summary, AllOf(ContainsRegex("\nloaded      test0: .*layer.*\n            cpu0: "),
                             HasSubstr("\n            " + std::string(kRefused)),
                             ContainsRegex("\nsession     test0: .*\n            cpu0: ")));
  const RunResult as_json = run(SHUNT_TEST_STINGY_PLUGINS, {"--json"});
  const json notes = json::parse(as_json.out)["notes"];
  ASSERT_EQ(notes["model"].size(), 3U) << as_json.out;
  EXPECT_THAT(notes["model"][0].get<std::string>(), testing::StartsWith("test0: "));
  EXPECT_THAT(notes["model"][1].get<std::string>(), testing::StartsWith("cpu0: "));
  EXPECT_THAT(notes["model"][2].get<std::string>(), testing::StartsWith(std::string(kRefused)));
  EXPECT_EQ(notes["session"].size(), 2U) << as_json.out;
}

/// Loading leaves room for the batcher's session, which has more sequences than whole contexts.
TEST_F(RunNotes, FileOfPromptsHasTheMemoryThatLoadingReserved) {
  const std::string prompts = model_.folder().file("prompts.txt");
  std::ofstream(prompts) << "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n";
  RunOptions options;
  options.environment["SHUNT_BACKEND_PATH"] = SHUNT_TEST_PLUGINS;
  const RunResult result = run_command({"run", "-m", model_.path(), "--prompts", prompts, "-n", "2",
                                        "-b", "8", "--fallback", "allow", "--json"},
                                       options);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::regex memory("cpu0: layers .*, ([0-9.]+ [KM]iB)( and .*)?\n");
  std::vector<std::string> bytes;
  for (std::sregex_iterator each(result.err.begin(), result.err.end(), memory), end; each != end;
       ++each) {
    bytes.push_back((*each)[1]);
  }
  ASSERT_EQ(bytes.size(), 2U) << result.err;
  EXPECT_EQ(bytes[0], bytes[1]) << result.err;
}

TEST_F(RunNotes, CpuOnlyHasNoPlacementNotes) {
  const RunResult result = run(SHUNT_TEST_STINGY_PLUGINS, {"--devices", "cpu0"});
  EXPECT_THAT(result.err, AllOf(HasSubstr("\nmodel  "), Not(HasSubstr("\nloaded  ")),
                                Not(HasSubstr("\nsession  "))));
}

TEST_F(RunNotes, DenyFailsIfMemoryRunsOut) {
  const RunResult result = run(SHUNT_TEST_STINGY_PLUGINS, {"--fallback", "deny"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, AllOf(HasSubstr("shunt: " + std::string(kRefused)), HasSubstr("denied"),
                                HasSubstr("set_rows (test0 has no room left for its cache")));
  const RunResult share = run(SHUNT_TEST_STINGY_PLUGINS, {"--max-cpu-time", "0%", "--rules-only"});
  EXPECT_EQ(share.exit_code, 1);
  EXPECT_THAT(share.err, AllOf(HasSubstr("at most 0.0% may"), HasSubstr("no room left")));
}

TEST_F(RunNotes, MarginWithoutRoomIsReportedInTheError) {
  const RunResult result =
      run(SHUNT_TEST_PLUGINS, {"--memory-margin", "1GiB", "--fallback", "deny"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("15 matmul (test0 has no room left for its weights: it "
                                          "would need "),
                                HasSubstr("and may use 0 bytes)"),
                                HasSubstr("2 swiglu (test0 has no kernel for swiglu)")));
}

TEST_F(RunNotes, DeviceInHostMemoryReportsUnifiedMemory) {
  const RunResult roomy = run(SHUNT_TEST_POOLED_PLUGINS, {});
  ASSERT_EQ(roomy.exit_code, 0) << roomy.err;
  EXPECT_THAT(roomy.err,
              AllOf(ContainsRegex("\nloaded      test0: layers 0 to 1 .*; unified memory with "
                                  "cpu0, together .*\n            cpu0: "),
                    ContainsRegex("\nsession     test0: layers 0 to 1 .*; unified memory with "
                                  "cpu0, together ")));
  const RunResult denied =
      run(SHUNT_TEST_POOLED_PLUGINS, {"--memory-margin", "1GiB", "--fallback", "deny"});
  EXPECT_EQ(denied.exit_code, 1);
  EXPECT_THAT(
      denied.err,
      AllOf(ContainsRegex("15 matmul .test0 has no room left for its weights: with cpu0, in "
                          "unified memory, it would need .* and may use 0 bytes"),
            HasSubstr("2 swiglu (test0 has no kernel for swiglu)")));
}

/// `explain` counts the same as a run.
TEST_F(RunNotes, ExplainAndRunReportTheSameFallback) {
  const std::vector<std::string> margin = {"--memory-margin", "1GiB"};
  const RunResult result = run(SHUNT_TEST_PLUGINS, margin);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  RunOptions options;
  options.environment["SHUNT_BACKEND_PATH"] = SHUNT_TEST_PLUGINS;
  const RunResult explained = run_command(
      {"explain", "-m", model_.path(), "-c", "64", "-n", "64", "--memory-margin", "1GiB", "--json"},
      options);
  ASSERT_EQ(explained.exit_code, 0) << explained.err;
  const json e = json::parse(explained.out);
  EXPECT_GT(e["fell_back"], 0);
  EXPECT_THAT(result.err, HasSubstr("shunt: " + std::to_string(e["fell_back"].get<int>()) + " of " +
                                    std::to_string(e["operations"].get<int>()) + " operations"));
}

}  // namespace
}  // namespace shunt::test::run_notes_test
