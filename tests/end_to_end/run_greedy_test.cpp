// The likeliest continuation of a real model, against the text that another implementation of the
// same arithmetic wrote: ../shared/data/models/stories260K.greedy.txt.
#include <gtest/gtest.h>

#include <fstream>

#include "support/gguf_bytes.h"
#include "support/run_command.h"
#include "support/shared.h"

namespace shunt::test {
namespace {

constexpr const char* kModel = "data/models/stories260K.gguf";
constexpr const char* kExpected = "data/models/stories260K.greedy.txt";
const std::string kPrompt = "Once upon a time";

std::string expected_text() {
  return read_file(shared_path(kExpected));
}

std::vector<std::string> greedy(std::vector<std::string> more) {
  std::vector<std::string> words = {"run",    "--model", shared_path(kModel), "-n", "64",
                                    "--temp", "0"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(RunGreedy, IsTheExpectedText) {
  SHUNT_NEED_SHARED(kExpected);
  const RunResult result = run_command(greedy({"--prompt", kPrompt}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_text());
}

struct Variation {
  const char* name;
  std::vector<std::string> arguments;
};

class RunGreedyVariation : public testing::TestWithParam<Variation> {};

TEST_P(RunGreedyVariation, IsTheSameText) {
  SHUNT_NEED_SHARED(kExpected);
  std::vector<std::string> arguments = GetParam().arguments;
  arguments.insert(arguments.end(), {"--prompt", kPrompt});
  const RunResult result = run_command(greedy(arguments));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_text());
}

INSTANTIATE_TEST_SUITE_P(, RunGreedyVariation,
                         testing::Values(Variation{"BatchOfOne", {"--batch", "1"}},
                                         Variation{"BatchOfThree", {"--batch", "3"}},
                                         Variation{"CacheF32", {"--cache-type", "f32"}},
                                         Variation{"CacheF16", {"--cache-type", "F16"}},
                                         Variation{"OneThread", {"--threads", "1"}},
                                         Variation{"ThreeThreads", {"--threads", "3"}},
                                         Variation{"JustEnoughContext", {"--ctx", "68"}},
                                         Variation{"NamedDevice", {"--devices", "cpu0"}},
                                         Variation{"AnySeed", {"--seed", "99"}}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(RunGreedy, TakesThePromptAsAnOperand) {
  SHUNT_NEED_SHARED(kExpected);
  EXPECT_EQ(run_command(greedy({kPrompt})).out, expected_text());
}

TEST(RunGreedy, TakesThePromptFromStandardInputAndLeavesItsLineEndOut) {
  SHUNT_NEED_SHARED(kExpected);
  RunOptions options;
  options.input = kPrompt;
  EXPECT_EQ(run_command(greedy({}), options).out, expected_text());
  options.input = kPrompt + "\n";
  EXPECT_EQ(run_command(greedy({}), options).out, expected_text());
  EXPECT_EQ(run_command(greedy({"--file", "-"}), options).out, expected_text());
}

TEST(RunGreedy, TakesThePromptFromAFile) {
  SHUNT_NEED_SHARED(kExpected);
  const TempFolder folder;
  const std::string path = folder.file("prompt.txt");
  std::ofstream(path) << kPrompt << "\n";
  EXPECT_EQ(run_command(greedy({"--file", path})).out, expected_text());
}

TEST(RunGreedy, TakesThreadsFromTheEnvironment) {
  SHUNT_NEED_SHARED(kExpected);
  RunOptions options;
  options.environment["SHUNT_THREADS"] = "2";
  EXPECT_EQ(run_command(greedy({kPrompt}), options).out, expected_text());
  options.environment["SHUNT_THREADS"] = "many";
  const RunResult wrong = run_command(greedy({kPrompt}), options);
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("SHUNT_THREADS"), std::string::npos) << wrong.err;
  EXPECT_EQ(run_command(greedy({kPrompt, "--threads", "2"}), options).exit_code, 2);
}

}  // namespace
}  // namespace shunt::test
