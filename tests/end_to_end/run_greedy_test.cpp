// The likeliest continuation of a real model, against the text that another implementation of the
// same arithmetic wrote.
#include <gtest/gtest.h>

#include <fstream>

#include "support/gguf_bytes.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "support/stories.h"

namespace shunt::test::run_greedy_test {
namespace {

std::vector<std::string> greedy(std::vector<std::string> more, const Stories& of = stories()) {
  std::vector<std::string> words = {"run", "--model", of.path, "-n", of.count(), "--temp", "0"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string expected_text(const Stories& of = stories()) {
  return of.text + "\n";
}

TEST(RunGreedy, GeneratesTheExpectedText) {
  const RunResult result = run_command(greedy({"--prompt", stories().prompt}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_text());
}

TEST(RunGreedy, GeneratesTheExpectedTextOfStories260K) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  const Stories others = stories_260k();
  const RunResult result = run_command(greedy({"--prompt", others.prompt}, others));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_text(others));
}

struct Variation {
  const char* name;
  std::vector<std::string> arguments;
};

class RunGreedyVariation : public testing::TestWithParam<Variation> {};

TEST_P(RunGreedyVariation, GeneratesTheSameText) {
  std::vector<std::string> arguments = GetParam().arguments;
  arguments.insert(arguments.end(), {"--prompt", stories().prompt});
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
                                         Variation{"NamedDevice", {"--devices", "cpu0"}},
                                         Variation{"AnySeed", {"--seed", "99"}}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(RunGreedy, GeneratesTheExpectedTextWithMinimalContext) {
  // The last token is never computed with.
  const std::size_t tokens = stories().prompt_ids.size() + stories().ids.size() - 1;
  const RunResult result =
      run_command(greedy({"--ctx", std::to_string(tokens), "--prompt", stories().prompt}));
  EXPECT_EQ(result.out, expected_text()) << result.err;
}

TEST(RunGreedy, TakesThePromptAsAnOperand) {
  EXPECT_EQ(run_command(greedy({stories().prompt})).out, expected_text());
}

TEST(RunGreedy, TakesThePromptFromStandardInputWithoutItsNewline) {
  RunOptions options;
  options.input = stories().prompt;
  EXPECT_EQ(run_command(greedy({}), options).out, expected_text());
  options.input = stories().prompt + "\n";
  EXPECT_EQ(run_command(greedy({}), options).out, expected_text());
  EXPECT_EQ(run_command(greedy({"--file", "-"}), options).out, expected_text());
}

TEST(RunGreedy, TakesThePromptFromAFile) {
  const TempFolder folder;
  const std::string path = folder.file("prompt.txt");
  std::ofstream(path) << stories().prompt << "\n";
  EXPECT_EQ(run_command(greedy({"--file", path})).out, expected_text());
}

TEST(RunGreedy, TakesThreadsFromTheEnvironment) {
  RunOptions options;
  options.environment["SHUNT_THREADS"] = "2";
  EXPECT_EQ(run_command(greedy({stories().prompt}), options).out, expected_text());
  options.environment["SHUNT_THREADS"] = "many";
  const RunResult wrong = run_command(greedy({stories().prompt}), options);
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("SHUNT_THREADS"), std::string::npos) << wrong.err;
  EXPECT_EQ(run_command(greedy({stories().prompt, "--threads", "2"}), options).exit_code, 2);
}

}  // namespace
}  // namespace shunt::test::run_greedy_test
