// Files that commands write: no input is overwritten, and a failure leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "nlohmann/json.hpp"
#include "support/gguf_bytes.h"
#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"

namespace shunt::test::output_files_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// A command with all its inputs and one output. "<NAME" is an input file, ">" is the output. A
/// value behind a flag has the flag's name.
struct Writer {
  std::string name;
  std::vector<std::string> arguments;
};

void PrintTo(const Writer& writer, std::ostream* out) {
  *out << testing::PrintToString(writer.arguments);
}

std::vector<Writer> writers() {
  return {
      {"place", {"place", "--model", "<1", "--costs", "<2", "--placement", "<3", "--output", ">"}},
      {"explain",
       {"explain", "--model", "<1", "--costs", "<2", "--placement", "<3", "--html", ">"}},
      {"run",
       {"run", "--model", "<1", "--costs", "<2", "--placement", "<3", "--file", "<4", "--trace",
        ">"}},
      {"run_prompts",
       {"run", "--model", "<1", "--costs", "<2", "--placement", "<3", "--prompts", "<4", "--trace",
        ">"}},
      {"run_prompt_cache",
       {"run", "--model", "<1", "--costs", "<2", "--placement", "<3", "--file", "<4",
        "--prompt-cache", ">"}},
      {"imatrix",
       {"imatrix", "--model", "<1", "--costs", "<2", "--placement", "<3", "--file", "<4",
        "--output", ">"}},
      {"quantize", {"quantize", "<1", ">", "Q8_0", "--imatrix", "<2"}},
      {"merge", {"merge", "<1", ">"}},
      {"train_tokenizer",
       {"train-tokenizer", "--file", "<1", "--chat-template", "<2", "--output", ">"}},
      {"train",
       {"train", "<1", "--model", "<2", "--validation", "<3", "--checkpoint", "new", "--output",
        ">"}},
      {"train_with_vocabulary", {"train", "<1", "--vocab", "<2", "--output", ">"}},
      {"checkpoint",
       {"train", "<1", "--model", "<2", "--validation", "<3", "--output", "new", "--checkpoint",
        ">"}},
      {"costs", {"bench", "costs", "--library", "zdnn=<1", "--output", ">"}},
  };
}

class NeverOverwritesAnInput : public testing::TestWithParam<Writer> {
 protected:
  /// The arguments, with `output` as the output.
  std::vector<std::string> with(const std::string& output) const {
    std::vector<std::string> arguments;
    for (std::string argument : GetParam().arguments) {
      const std::size_t input = argument.find('<');
      if (argument == ">") {
        argument = output;
      } else if (argument == "new") {
        argument = folder_.file("new");
      } else if (input != std::string::npos) {
        argument = argument.substr(0, input) + folder_.file(argument.substr(input));
      }
      arguments.push_back(argument);
    }
    return arguments;
  }
  std::vector<std::string> inputs() const {
    std::vector<std::string> names;
    for (const std::string& argument : GetParam().arguments) {
      const std::size_t input = argument.find('<');
      if (input != std::string::npos) names.push_back(argument.substr(input));
    }
    return names;
  }
  void expect_refused(const std::string& output, const std::string& input) {
    const RunResult result = run_command(with(output));
    EXPECT_EQ(result.exit_code, 2) << output << ": " << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, AllOf(HasSubstr(output), HasSubstr("reads this file")));
    EXPECT_EQ(read_file(folder_.file(input)), input) << output;
  }

  TempFolder folder_;
};

TEST_P(NeverOverwritesAnInput, ByAnyName) {
  ASSERT_FALSE(inputs().empty());
  for (const std::string& input : inputs()) {
    folder_.write(input, std::as_bytes(std::span(input)));
  }
  for (const std::string& input : inputs()) {
    expect_refused(folder_.file(input), input);
    const std::string soft = folder_.file("soft link to " + input);
    std::filesystem::create_symlink(input, soft);
    expect_refused(soft, input);
    const std::string hard = folder_.file("hard link to " + input);
    std::filesystem::create_hard_link(folder_.file(input), hard);
    expect_refused(hard, input);
  }
}

INSTANTIATE_TEST_SUITE_P(Commands, NeverOverwritesAnInput, testing::ValuesIn(writers()),
                         [](const auto& each) { return each.param.name; });

class OutputFiles : public testing::Test {
 protected:
  RunResult run(std::vector<std::string> arguments) const {
    return run_command(std::move(arguments));
  }
  std::string out() const { return folder_.file("out"); }

  SynthModel model_;
  TempFolder folder_;
};

TEST_F(OutputFiles, FullDiskKeepsTheExistingFile) {
  const std::string text = "once upon a time there was a model, and it was small. ";
  std::string long_text;
  while (long_text.size() < 20000) long_text += text;
  const TempFolder other;
  const std::string file = other.write("text", std::as_bytes(std::span(long_text)));
  const std::vector<std::vector<std::string>> commands = {
      {"place", "--model", model_.path(), "--output", out()},
      {"explain", "--model", model_.path(), "--html", out()},
      {"run", "--model", model_.path(), "-n", "1", "--trace", out(), "hello"},
      {"imatrix", "--model", model_.path(), "--ctx", "16", "--file", file, "--output", out()},
      {"quantize", model_.path(), out(), "Q8_0"},
      {"merge", model_.path(), out()},
      {"split", model_.path(), folder_.file("parts"), "--tensors", "8"},
      {"quantize", model_.path(), folder_.file("parts"), "Q8_0", "--split", "8KiB"},
      {"synth", out()},
      {"train-tokenizer", "--file", file, "--vocab-size", "300", "--output", out()},
      {"bench", "costs", "--width", "64", "--seconds", "0", "-t", "1", "--devices", "cpu0",
       "--output", out()},
      {"train", file, "--vocab", model_.path(), "--validation-share", "0", "--ctx", "16", "--steps",
       "1", "--output", out()},
  };
  for (const auto& command : commands) {
    folder_.write("out", std::as_bytes(std::span("before", 6)));
    // A limit on the size of files fails in write(), as a full disk does. The command inherits it.
    struct rlimit before = {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit limit = {100, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    const RunResult result = run(command);
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(result.exit_code, 1) << command[0] << ": " << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr(folder_.path()), HasSubstr("File too large")))
        << command[0];
    EXPECT_EQ(read_file(out()), "before") << command[0];
    EXPECT_THAT(folder_.list(), ElementsAre("out")) << command[0];
  }
}

TEST_F(OutputFiles, DanglingSymlinkCreatesItsTarget) {
  const TempFolder elsewhere;
  std::filesystem::create_symlink(elsewhere.file("target"), out());
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit limit = {100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::vector<std::string> command = {"explain", "--model", model_.path(), "--html", out()};
  EXPECT_EQ(run(command).exit_code, 1);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(elsewhere.list().empty());
  EXPECT_EQ(run(command).exit_code, 0);
  EXPECT_THAT(elsewhere.list(), ElementsAre("target"));
  EXPECT_TRUE(std::filesystem::is_symlink(out()));
}

TEST_F(OutputFiles, UnwritablePathIsAnErrorBeforeTheWork) {
  const std::string nowhere = folder_.file("no/out");
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"imatrix", "--model", "/missing.gguf", "--output", nowhere, "text"},
           {"quantize", "/missing.gguf", nowhere, "Q8_0"},
           {"split", "/missing.gguf", nowhere, "--tensors", "1"},
           {"merge", "/missing.gguf", nowhere},
           {"explain", "--model", "/missing.gguf", "--html", nowhere},
           {"place", "--model", "/missing.gguf", "--output", nowhere},
           {"bench", "costs", "--output", nowhere}}) {
    const RunResult result = run(command);
    EXPECT_EQ(result.exit_code, 1) << command[0];
    EXPECT_THAT(result.err, AllOf(HasSubstr(nowhere), testing::Not(HasSubstr("missing.gguf"))));
  }
}

TEST_F(OutputFiles, LibrariesAndPluginsOfVariablesAreInputs) {
  const std::string library = folder_.write("libz.so", {});
  RunOptions options;
  options.environment["SHUNT_ZDNN_LIBRARY"] = library;
  EXPECT_EQ(
      run_command({"explain", "--model", model_.path(), "--html", library}, options).exit_code, 2);
  options.environment = {{"SHUNT_BACKEND_PATH", folder_.path()}};
  EXPECT_EQ(
      run_command({"explain", "--model", model_.path(), "--html", library}, options).exit_code, 2);
  EXPECT_EQ(read_file(library), "");
}

TEST_F(OutputFiles, TextGoesToStandardOutput) {
  const RunResult page = run({"explain", "--model", model_.path(), "--html", "-"});
  EXPECT_EQ(page.exit_code, 0) << page.err;
  EXPECT_THAT(page.out, testing::StartsWith("<!doctype html>"));
  const RunResult with_report = run({"explain", "--model", model_.path(), "--json", "--html", "-"});
  EXPECT_THAT(with_report.out, testing::StartsWith("<!doctype html>"));
  EXPECT_TRUE(nlohmann::json::accept(with_report.err));
  const RunResult placement = run({"place", "--model", model_.path(), "--output", "-"});
  EXPECT_EQ(placement.exit_code, 0) << placement.err;
  EXPECT_EQ(placement.out, run({"place", "--model", model_.path()}).out);
  const RunResult trace =
      run({"run", "--model", model_.path(), "-n", "1", "--trace", "-", "hello"});
  EXPECT_EQ(trace.exit_code, 0) << trace.err;
  EXPECT_TRUE(nlohmann::json::accept(trace.out));
  EXPECT_THAT(trace.err, HasSubstr("hello"));
}

TEST_F(OutputFiles, DevNullMayBeInputAndOutput) {
  const RunResult result = run(
      {"run", "--model", model_.path(), "-n", "1", "--file", "/dev/null", "--trace", "/dev/null"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(OutputFiles, MissingInputIsNotOverwritten) {
  const RunResult result = run({"quantize", out(), folder_.path() + "/./out", "Q8_0"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_TRUE(folder_.list().empty());
}

TEST_F(OutputFiles, RejectsGgufOnStandardOutput) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"synth", "-"},
                                             {"quantize", model_.path(), "-", "Q8_0"},
                                             {"quantize", model_.path(), "/dev/stdout", "Q8_0"},
                                             {"synth", "/proc/self/fd/1"},
                                             {"train-tokenizer", "text", "--output", "-"}}) {
    const RunResult result = run(command);
    EXPECT_EQ(result.exit_code, 2) << command[0];
    EXPECT_EQ(result.out, "") << command[0];
    EXPECT_THAT(result.err, HasSubstr("standard output"));
  }
}

}  // namespace
}  // namespace shunt::test::output_files_test
