// A real model on the accelerator of IBM Z, by its twin, as a user runs it.
#include <gmock/gmock.h>

#include "support/gguf_bytes.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "test_paths.h"

namespace shunt::test {
namespace {

constexpr const char* kModel = "data/models/stories260K.gguf";
constexpr const char* kExpected = "data/models/stories260K.greedy.txt";

struct Machine {
  const char* name;
  const char* profile;
  const char* library;
};

class ZdnnModel : public testing::TestWithParam<Machine> {
 protected:
  void SetUp() override {
    SHUNT_NEED_SHARED(kExpected);
    if (*GetParam().library == '\0') GTEST_SKIP() << "there is no twin of zDNN in this build";
    if (run({"devices"}).out.find("zdnn0") == std::string::npos) {
      GTEST_SKIP() << "there is no zDNN backend in this build";
    }
  }
  static RunResult run(std::vector<std::string> words) {
    words.insert(words.end(), {"--library", std::string("zdnn=") + GetParam().library});
    RunOptions options;
    options.environment["ZDNN_TWIN_PROFILE"] = GetParam().profile;
    options.environment["ZDNN_TWIN_STRICT"] = "status";
    return run_command(words, options);
  }
  static std::vector<std::string> greedy(const char* fallback) {
    return {"run",    "--model",  shared_path(kModel), "-n",    "64",
            "--temp", "0",        "--devices",         "zdnn0", "--fallback",
            fallback, "--prompt", "Once upon a time"};
  }
};

TEST_P(ZdnnModel, WritesTheTextOfTheCpu) {
  const RunResult result = run(greedy("allow"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, read_file(shared_path(kExpected)));
  EXPECT_THAT(result.err, testing::HasSubstr("zdnn0: layers 0 to 4 (5 of 5)"));
  EXPECT_THAT(result.err, testing::Not(testing::HasSubstr("met numbers beyond")));
}

TEST_P(ZdnnModel, SaysWhatFallsBack) {
  const RunResult result = run(greedy("warn"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, read_file(shared_path(kExpected)));
  EXPECT_THAT(result.err, testing::HasSubstr("run on cpu0 instead of zdnn0; the first is"));
}

TEST_P(ZdnnModel, IsDeniedWhatFallsBack) {
  const RunResult result = run(greedy("deny"));
  EXPECT_NE(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, testing::HasSubstr("which is denied"));
  EXPECT_THAT(result.err, testing::HasSubstr("rope (no kernel for rope)"));
}

TEST_P(ZdnnModel, IsRightOperationByOperation) {
  const RunResult result =
      run({"verify", "--model", shared_path(kModel), "--device", "zdnn0", "--top", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, testing::HasSubstr(" 0 wrong"));
}

TEST_P(ZdnnModel, IsExplained) {
  const RunResult result =
      run({"explain", "--model", shared_path(kModel), "--devices", "zdnn0", "--rules-only"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::HasSubstr("no kernel for rope"));
  EXPECT_THAT(result.out, testing::HasSubstr("0 bytes copied between devices"));
}

INSTANTIATE_TEST_SUITE_P(, ZdnnModel,
                         testing::Values(Machine{"z17", "z17", SHUNT_TEST_ZDNN_TWIN},
                                         Machine{"z16", "z16", SHUNT_TEST_ZDNN_TWIN},
                                         Machine{"library_1_0", "z17", SHUNT_TEST_ZDNN_TWIN_1_0}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(LibraryFlag, IsABackendAndAPath) {
  for (const char* wrong : {"zdnn", "=libzdnn.so", "zdnn="}) {
    const RunResult result = run_command({"devices", "--library", wrong});
    EXPECT_EQ(result.exit_code, 2) << wrong;
    EXPECT_THAT(result.err, testing::HasSubstr("is not a backend and a path"));
  }
}

TEST(LibraryFlag, OverridesTheEnvironment) {
  RunOptions options;
  if (run_command({"devices"}).out.find("zdnn") == std::string::npos) {
    GTEST_SKIP() << "there is no zDNN backend in this build";
  }
  options.environment["SHUNT_ZDNN_LIBRARY"] = "/from/the/environment.so";
  EXPECT_THAT(run_command({"devices"}, options).out,
              testing::HasSubstr("/from/the/environment.so"));
  const RunResult result = run_command({"devices", "--library", "zdnn=/from/a/flag.so"}, options);
  EXPECT_THAT(result.out, testing::HasSubstr("/from/a/flag.so"));
  EXPECT_THAT(result.out, testing::Not(testing::HasSubstr("/from/the/environment.so")));
}

}  // namespace
}  // namespace shunt::test
