// `shunt bench`: its output, and the file that it saves. Judging the speeds is left to people.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "shunt/costs.h"
#include "support/gguf_bytes.h"
#include "support/models.h"
#include "support/run_command.h"
#include "test_paths.h"

namespace shunt::test::bench_command_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

json json_of(const std::vector<std::string>& arguments) {
  const RunResult result = run_command(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out, nullptr, false);
}

TEST(BenchCommand, SavesMeasuredCosts) {
  const TempFolder folder;
  const std::string path = folder.file("costs.json");
  const RunResult result = run_command({"bench", "costs", "--width", "64", "--seconds", "0",
                                        "--output", path, "--devices", "cpu0", "--threads", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("matmul"), HasSubstr("attention"), HasSubstr("cpu0")));
  const auto read = CostModel::load(path);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->ops().size(), 11U);
  EXPECT_EQ(run_command({"bench", "costs", "--width", "100"}).exit_code, 2);
}

TEST(BenchCommand, MeasuresTheMachineForEachNumberOfThreads) {
  const json machine =
      json_of({"bench", "machine", "-t", "2", "--devices", "cpu0", "--seconds", "0.05", "--json"});
  ASSERT_EQ(machine.size(), 1U);
  EXPECT_EQ(machine[0]["device"], "cpu0");
  ASSERT_EQ(machine[0]["peaks"].size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const json& peaks = machine[0]["peaks"][i];
    EXPECT_EQ(peaks["threads"], i + 1);
    for (const char* peak : {"read", "int8", "bf16", "F32"}) {
      EXPECT_GT(peaks[peak]["per_second"], 0) << peak;
      EXPECT_NE(peaks[peak]["unit"], "") << peak;
    }
  }
}

TEST(BenchCommand, MachinePeaksRespectTheVectorLevelAndNameTheFallback) {
  RunOptions options;
  options.environment["SHUNT_CPU_LEVEL"] = "scalar";
  const RunResult result =
      run_command({"bench", "machine", "-t", "1", "--seconds", "0.05"}, options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("int8: plain code (scalar), a substitute: "),
                                HasSubstr("bf16: multiply-adds of F32 (scalar), a substitute: "),
                                HasSubstr("F32: multiply-adds of F32 (scalar)\n")));
}

TEST(BenchCommand, MeasuresAModelsPromptsAndGeneration) {
  const SynthModel model({.dtype = DType::kQ4_0});
  const json report =
      json_of({"bench", "model", "--model", model.path(), "-p", "6,9", "-n", "3", "-d", "0,7", "-r",
               "2", "-t", "1", "--devices", "cpu0", "--cache-type", "f32", "--json"});
  EXPECT_EQ(report["model"]["path"], model.path());
  EXPECT_EQ(report["context"], 16);
  EXPECT_EQ(report["cache_type"], "F32");
  EXPECT_EQ(report["device"], "cpu0");
  EXPECT_EQ(report["peaks"]["threads"], 1);
  EXPECT_GT(report["peak_memory"], 0);
  EXPECT_GT(report["load_seconds"], 0);
  EXPECT_GT(report["first_token_seconds"], report["load_seconds"]);

  std::vector<std::string> tests;
  for (const json& test : report["tests"]) {
    tests.push_back(test["test"].get<std::string>() + " " + test["tokens"].dump() + " after " +
                    test["depth"].dump());
    EXPECT_EQ(test["runs"].size(), 2U);
    const json& speed = test["tokens_per_second"];
    EXPECT_GT(speed["low"], 0);
    EXPECT_LE(speed["low"], speed["median"]);
    EXPECT_LE(speed["median"], speed["high"]);
    EXPECT_GT(test["share"]["median"], 0);
    for (const json& run : test["runs"]) {
      EXPECT_NEAR(run["tokens_per_second"].get<double>() * run["seconds"].get<double>(),
                  test["tokens"].get<double>(), 1e-6);
      if (test["test"] != "generate") continue;
      EXPECT_GT(run["read_before"], 0);
      EXPECT_GT(run["read_after"], 0);
      EXPECT_GE(run["attempts"], 1);
      EXPECT_LE(run["attempts"], 10);
    }
  }
  EXPECT_THAT(tests,
              testing::ElementsAre("prompt 6 after 0", "prompt 9 after 0", "generate 3 after 0",
                                   "prompt 6 after 7", "prompt 9 after 7", "generate 3 after 7"));
}

TEST(BenchCommand, PrintsAPlainOrMarkdownTable) {
  const SynthModel model;
  std::vector<std::string> arguments = {"bench", "model", "-m", model.path(), "-p", "6",  "-n",
                                        "0",     "-r",    "1",  "-t",         "1",  "-c", "64"};
  const RunResult plain = run_command(arguments);
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_THAT(plain.out,
              AllOf(HasSubstr("context 64"), HasSubstr("prompt 6"), HasSubstr("loaded in"),
                    HasSubstr("peak memory"), HasSubstr("limits of cpu0 with 1 thread"),
                    testing::Not(HasSubstr("generate"))));
  arguments.emplace_back("--markdown");
  EXPECT_THAT(run_command(arguments).out,
              AllOf(HasSubstr("| test | depth | tokens/s |"), HasSubstr("| --- | ---: |"),
                    HasSubstr("| prompt 6 | 0 |")));
}

TEST(BenchCommand, MeasuresBatchedSequences) {
  const SynthModel model;
  std::vector<std::string> arguments = {"bench", "model", "-m",  model.path(), "-p", "6",  "-n",
                                        "3",     "-s",    "1,2", "-r",         "1",  "-t", "1"};
  const RunResult plain = run_command(arguments);
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_THAT(plain.out, AllOf(HasSubstr("\nprompt 6 "), HasSubstr("\ngenerate 3 "),
                               HasSubstr("\n2 x prompt 6 "), HasSubstr("\n2 x generate 3 "),
                               HasSubstr("context 12,"), testing::Not(HasSubstr("1 x"))));
  arguments.emplace_back("--json");
  const json report = json_of(arguments);
  EXPECT_EQ(report["context"], 12);
  std::vector<std::string> tests;
  for (const json& test : report["tests"]) {
    tests.push_back(test["sequences"].dump() + " " + test["test"].get<std::string>() + " " +
                    test["tokens"].dump());
    // The tokens of all of them are counted.
    const json& run = test["runs"][0];
    EXPECT_NEAR(run["tokens_per_second"].get<double>() * run["seconds"].get<double>(),
                test["sequences"].get<double>() * test["tokens"].get<double>(), 1e-6);
  }
  EXPECT_THAT(tests,
              testing::ElementsAre("1 prompt 6", "1 generate 3", "2 prompt 6", "2 generate 3"));
}

TEST(BenchCommand, MeasuresOpsByType) {
  const json report =
      json_of({"bench", "ops", "--op", "matmul,add,rope,rms_norm", "--type", "Q4_0,F16,BF16",
               "--width", "64", "--seconds", "0", "-t", "2", "--devices", "cpu0", "--json"});
  std::map<std::string, int> rows;
  for (const json& op : report["ops"]) {
    ++rows[op["op"].get<std::string>() + " " + op["type"].get<std::string>()];
    EXPECT_GT(op["seconds"], 0);
    EXPECT_GT(op["bytes_per_second"], 0);
    EXPECT_GT(op["share"], 0);
  }
  // Two shapes of weights, with 1, 2, 4, 8, 32 and 512 columns.
  const std::map<std::string, int> expected = {{"matmul Q4_0", 12}, {"matmul F16", 12},
                                               {"matmul BF16", 12}, {"add F32", 1},
                                               {"rope F32", 1},     {"rms_norm F32", 1}};
  EXPECT_EQ(rows, expected);
}

TEST(BenchCommand, SkipsUnsupportedOps) {
  RunOptions options;
  options.environment["SHUNT_BACKEND_PATH"] = SHUNT_TEST_PLUGINS_Q8_ONLY;
  const RunResult result = run_command({"bench", "ops", "--op", "matmul", "--type", "Q4_0",
                                        "--width", "64", "--seconds", "0", "--devices", "test0"},
                                       options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("test0 has no measurement of its peak rates"),
                                HasSubstr("matmul of Q4_0 is left out")));
}

TEST(BenchCommand, TrainUsesTheDefaultModelIfNoneIsNamed) {
  const RunResult result =
      run_command({"bench", "train", "--ctx", "16", "--rows", "1", "-r", "1", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json measured = json::parse(result.out);
  EXPECT_THAT(measured["model"].get<std::string>(), testing::EndsWith("/shunt/stories.gguf"));
  EXPECT_GT(measured["share"], 0);
}

TEST(BenchCommand, NamesTheFileThatItCannotRead) {
  const TempFolder folder;
  const RunResult result = run_command({"bench", "model", "--model", folder.file("nothing.gguf")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, AllOf(HasSubstr("nothing.gguf"), HasSubstr("No such file")));
}

TEST(BenchCommand, NamesAnUnknownDevice) {
  for (const char* mode : {"machine", "ops", "costs"}) {
    const RunResult result = run_command({"bench", mode, "--devices", "cuda9"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("cuda9"));
  }
}

}  // namespace
}  // namespace shunt::test::bench_command_test
