// `shunt run` with models of noise: its standard output, its stderr, and when it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/models.h"
#include "support/run_command.h"

namespace shunt::test::run_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class Run : public testing::Test {
 protected:
  RunResult run(std::vector<std::string> more, const RunOptions& options = {}) const {
    std::vector<std::string> words = {"run", "--model", model_.path(), "--ignore-eos"};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(words, options);
  }
  SynthModel model_;
};

TEST_F(Run, NoTokensPrintsThePromptAndANewline) {
  const RunResult result = run({"-n", "0", "-p", "Hello, world"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "Hello, world\n");
}

TEST_F(Run, NoTokensStillOpensTheModel) {
  EXPECT_EQ(run_command({"run", "--model", "/nonexistent.gguf", "-n", "0", "-p", "x"}).exit_code,
            1);
}

TEST_F(Run, PrintsPromptTextAndOneNewline) {
  const RunResult result = run({"-n", "8", "-p", "Hello", "--seed", "1"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, StartsWith("Hello"));
  EXPECT_GT(result.out.size(), 6u);
  EXPECT_THAT(result.out, EndsWith("\n"));
}

TEST_F(Run, SummaryGoesToStandardError) {
  const RunResult result = run({"-n", "8", "-p", "Hello", "--seed", "77"});
  for (const char* part : {"loaded in", "8 tokens in", "tokens/s", "weights", "cache",
                           "activations", "peak", "77", "length"}) {
    EXPECT_THAT(result.err, HasSubstr(part));
  }
}

TEST_F(Run, SameSeedGivesTheSameText) {
  const std::string first = run({"-n", "20", "-p", "Hello", "--seed", "5", "--temp", "2"}).out;
  EXPECT_EQ(run({"-n", "20", "-p", "Hello", "--seed", "5", "--temp", "2"}).out, first);
  EXPECT_NE(run({"-n", "20", "-p", "Hello", "--seed", "6", "--temp", "2"}).out, first);
}

TEST_F(Run, RandomSeedIsReportedAndReproduces) {
  const auto first = nlohmann::json::parse(run({"-n", "20", "-p", "Hello", "--json"}).out);
  const std::string seed = std::to_string(first["seed"].get<std::uint64_t>());
  const auto second =
      nlohmann::json::parse(run({"-n", "20", "-p", "Hello", "--json", "--seed", seed}).out);
  EXPECT_EQ(second["tokens"], first["tokens"]);
  const auto third = nlohmann::json::parse(run({"-n", "20", "-p", "Hello", "--json"}).out);
  EXPECT_NE(third["seed"], first["seed"]);
}

TEST_F(Run, JsonHasEveryField) {
  const RunResult result =
      run({"-n", "6", "-p", "Hello \xf0\x9f\x98\x80", "--json", "--seed", "3"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["prompt"], "Hello \xf0\x9f\x98\x80");
  EXPECT_TRUE(json["text"].is_string());
  EXPECT_EQ(json["tokens"].size(), 6u);
  EXPECT_EQ(json["stop"], "length");
  EXPECT_EQ(json["seed"], 3);
  EXPECT_EQ(json["timings"]["generation"]["tokens"], 6);
  EXPECT_GT(json["timings"]["load_seconds"], 0);
  EXPECT_GT(json["memory"]["weights"], 0);
  EXPECT_GT(json["memory"]["cache"], 0);
  EXPECT_GT(json["memory"]["peak_rss"], json["memory"]["weights"]);
  EXPECT_EQ(json["model"]["path"], model_.path());
  EXPECT_EQ(json["model"]["architecture"], "llama");
}

TEST_F(Run, JsonTextEqualsPlainOutput) {
  const std::string plain = run({"-n", "12", "-p", "Hello", "--seed", "3"}).out;
  const auto json =
      nlohmann::json::parse(run({"-n", "12", "-p", "Hello", "--seed", "3", "--json"}).out);
  EXPECT_EQ(json["prompt"].get<std::string>() + json["text"].get<std::string>() + "\n", plain);
}

TEST_F(Run, EndsWhenTheContextIsFull) {
  const RunResult result = run({"-p", "Hello", "--ctx", "32", "--json"});
  EXPECT_EQ(result.exit_code, 0);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["stop"], "context full");
  EXPECT_GE(json["tokens"].size() + json["timings"]["prompt"]["tokens"].get<std::size_t>(), 32u);
}

TEST_F(Run, PromptLongerThanTheContextIsAnErrorWithBothSizes) {
  const RunResult result = run({"-p", "\xe4\xb8\xad\xe4\xb8\xad", "--ctx", "4"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr(model_.path()));
  EXPECT_THAT(result.err, HasSubstr("room for 4"));
  EXPECT_THAT(result.err, HasSubstr("8 tokens"));  // BOS, a space, and six bytes
}

TEST_F(Run, InvalidUtf8IsReplacedWithAWarning) {
  const RunResult result = run({"-n", "0", "-p", "a\xff\xe2\x96z"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "a\xef\xbf\xbd\xef\xbf\xbdz\n");
  EXPECT_THAT(result.err, HasSubstr("warning"));
}

TEST_F(Run, EmptyPromptIsBos) {
  const auto json = nlohmann::json::parse(run({"-n", "3", "-p", "", "--json"}).out);
  EXPECT_EQ(json["timings"]["prompt"]["tokens"], 1);
  EXPECT_EQ(run({"-n", "0", "--prompt=", "--temp", "0"}).out, "\n");
}

TEST_F(Run, StandardInputIsReadUnlessItIsATerminal) {
  RunOptions options;
  options.input = "from a pipe";
  EXPECT_EQ(run({"-n", "0"}, options).out, "from a pipe\n");
  EXPECT_EQ(run({"-n", "0"}).out, "\n") << "an empty one";
  EXPECT_EQ(run({"-n", "0", "-p", "flag"}, options).out, "flag\n") << "the flag wins";
  if (!has_terminals()) GTEST_SKIP() << "this system has no pseudo-terminals";
  options.terminal_input = true;
  EXPECT_EQ(run({"-n", "0"}, options).out, "\n");
}

TEST_F(Run, EmptyPromptWithoutBosIsAnError) {
  const std::string path = model_.folder().file("no-bos.gguf");
  write_edited(model_.path(), path, [](EditedFile& file) {
    file.set("tokenizer.ggml.add_bos_token", {gguf::ValueType::kBool, false});
  });
  const RunResult result = run_command({"run", "--model", path, "-n", "1", "-p", ""});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr(path));
  EXPECT_THAT(result.err, HasSubstr("prompt is empty"));
}

TEST_F(Run, MissingPromptFileIsNamed) {
  const RunResult result = run({"--file", "/nonexistent/prompt.txt"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("/nonexistent/prompt.txt"));
}

TEST_F(Run, UnknownDeviceErrorListsTheDevices) {
  const RunResult result = run({"-p", "x", "--devices", "warp9"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("warp9"));
  EXPECT_THAT(result.err, HasSubstr("cpu0"));
}

}  // namespace
}  // namespace shunt::test::run_test
