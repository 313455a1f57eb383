// `shunt check-ops`: a device with the ops' own test cases. The device comes as a plugin: test0,
// which has matmul and add; another test0, whose sums are 1% too large; and one that never comes
// back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "shunt/check_ops.h"
#include "support/run_command.h"
#include "test_paths.h"

namespace shunt::test::check_ops_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

RunResult check_ops(std::vector<std::string> more, const std::string& plugins = "",
                    RunOptions options = {}) {
  more.insert(more.begin(), "check-ops");
  if (!plugins.empty()) options.environment["SHUNT_BACKEND_PATH"] = plugins;
  return run_command(more, options);
}

json json_of(const RunResult& result) {
  EXPECT_THAT(result.out, StartsWith("{")) << result.err;
  return json::parse(result.out);
}

TEST(CheckOpsCommand, CorrectDevicePassesAllSupportedCases) {
  const RunResult result = check_ops({"--device", "test0", "--json"}, SHUNT_TEST_PLUGINS);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const json found = json_of(result);
  EXPECT_EQ(found["device"], "test0");
  EXPECT_EQ(found["failed"], 0);
  EXPECT_EQ(found["passed"], case_count("add") + case_count("matmul"));
  EXPECT_EQ(found["cases"], found["passed"].get<int>() + found["unsupported"].get<int>());
  ASSERT_THAT(found["ops"], SizeIs(op_names().size()));
  for (std::size_t i = 0; i < op_names().size(); ++i) {
    const json& op = found["ops"][i];
    EXPECT_EQ(op["op"], op_names()[i]);
    EXPECT_EQ(op["cases"], case_count(op_names()[i]));
    EXPECT_EQ(op["failures"], json::array());
    if (op["op"] == "add" || op["op"] == "matmul") {
      EXPECT_EQ(op["passed"], op["cases"]);
      EXPECT_EQ(op["reasons"], json::array());
    } else {
      EXPECT_EQ(op["unsupported"], op["cases"]);
      ASSERT_THAT(op["reasons"], SizeIs(1));
      EXPECT_THAT(op["reasons"][0]["reason"], StartsWith("test0 has no kernel for "));
      EXPECT_EQ(op["reasons"][0]["cases"], op["cases"]);
    }
  }
}

TEST(CheckOpsCommand, ListsEveryReasonForUnsupportedCases) {
  const std::vector<std::string> flags = {"--device", "test0", "--op", "add"};
  const RunResult text = check_ops(flags, SHUNT_TEST_PLUGINS_Q8_ONLY);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  const json found =
      json_of(check_ops({"-d", "test0", "--op", "add", "--json"}, SHUNT_TEST_PLUGINS_Q8_ONLY));
  const json& op = found["ops"][0];
  ASSERT_THAT(op["reasons"], SizeIs(2));
  std::size_t refused = 0;
  for (const json& reason : op["reasons"]) {
    EXPECT_THAT(reason["reason"], StartsWith("test0 adds no ")) << reason;
    EXPECT_THAT(text.out, HasSubstr(fmt::format(" {}  {}\n", reason["cases"].get<std::size_t>(),
                                                reason["reason"].get<std::string>())));
    refused += reason["cases"].get<std::size_t>();
  }
  EXPECT_EQ(op["unsupported"], refused);
  EXPECT_EQ(op["passed"].get<std::size_t>() + refused, case_count("add"));
}

TEST(CheckOpsCommand, ChecksOnlyTheNamedOps) {
  const RunResult result = check_ops(
      {"-d", "cpu0", "--op", "silu", "--op", "transpose", "--op", "silu", "--op", "sum_rows"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::size_t cases = case_count("silu") + case_count("transpose") + case_count("sum_rows");
  EXPECT_THAT(result.out,
              AllOf(StartsWith("op "), HasSubstr("\nsilu "), HasSubstr("\nsum_rows "),
                    testing::EndsWith(fmt::format("\ncpu0: 3 ops, {0} cases: {0} passed, 0 failed, "
                                                  "0 unsupported\n",
                                                  cases))));
}

TEST(CheckOpsCommand, ReportsAWrongKernel) {
  const RunResult result =
      check_ops({"--device", "test0", "--op", "matmul", "--op", "add", "--op", "mul", "--top", "2"},
                SHUNT_TEST_WRONG_PLUGINS);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("first 2 of "), HasSubstr("\n  add: F32 [64, 5]"),
                                HasSubstr("error 0.0001, at most 1e-12\n"),
                                HasSubstr("  test0 has no kernel for mul\n")));
  EXPECT_THAT(result.err, AllOf(StartsWith("shunt: test0: "),
                                HasSubstr(" cases failed; the first is add: F32 [64, 5]")));
  EXPECT_THAT(result.err, SizeIs(result.err.find('\n') + 1)) << "more than one line";
  const json found =
      json_of(check_ops({"-d", "test0", "--op", "add", "--json"}, SHUNT_TEST_WRONG_PLUGINS));
  EXPECT_GT(found["failed"], 0);
  EXPECT_EQ(found["ops"][0]["failures"].size(), found["failed"]);
  EXPECT_THAT(found["ops"][0]["failures"][0]["message"], HasSubstr("error 0.0001"));
}

TEST(CheckOpsCommand, LostDeviceFailsItsCasesAndTheCheckContinues) {
  const RunResult result =
      check_ops({"--device", "test0", "--op", "add", "--json"}, SHUNT_TEST_LOST_PLUGINS);
  EXPECT_EQ(result.exit_code, 1);
  const json found = json_of(result);
  EXPECT_GT(found["passed"], 0);
  EXPECT_GT(found["failed"], 0);
  EXPECT_EQ(found["cases"], case_count("add"));
  EXPECT_THAT(found["ops"][0]["failures"][0]["message"], HasSubstr("(code 719: "));
}

TEST(CheckOpsCommand, HangingDeviceIsReported) {
  const RunResult result = check_ops({"--device", "test0", "--op", "add", "--case-seconds", "0.1"},
                                     SHUNT_TEST_HANGING_PLUGINS);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("test0: 1 op, 1 case: 0 passed, 1 failed"));
  EXPECT_THAT(result.err, AllOf(StartsWith("test0 hangs\nshunt: test0: add: F32 [64, 5]"),
                                HasSubstr("test0 does not end it although it was cancelled")));
}

TEST(CheckOpsCommand, CtrlCEndsTheCheck) {
  RunOptions options;
  options.interrupt_after = 100;
  const RunResult result = check_ops({"--device", "cpu0"}, "", options);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.out, testing::Not(HasSubstr("cpu0: ")));
}

TEST(CheckOpsCommand, NoSupportedCaseIsAnError) {
  const RunResult result = check_ops({"--device", "null0", "--op", "silu"});
  if (result.err.find("there is no device") != std::string::npos)
    GTEST_SKIP() << "there is no null backend in this build";
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("null0: nothing was checked: the device supports none of "));
  EXPECT_THAT(result.out, HasSubstr(fmt::format("0 failed, {} unsupported", case_count("silu"))));
}

TEST(CheckOpsCommand, ReportsWrongUsageAndUnknownOpsAndDevices) {
  const RunResult no_device = check_ops({});
  EXPECT_EQ(no_device.exit_code, 2);
  EXPECT_THAT(no_device.err, HasSubstr("--device NAME"));
  const RunResult op = check_ops({"--device", "cpu0", "--op", "mat_mul"});
  EXPECT_EQ(op.exit_code, 2);
  EXPECT_THAT(op.err, HasSubstr("there is no op \"mat_mul\"; did you mean \"matmul\""));
  EXPECT_EQ(check_ops({"--device", "cpu0", "--case-seconds", "-1"}).exit_code, 2);
  EXPECT_EQ(check_ops({"--device", "cpu0", "--case-seconds", "nan"}).exit_code, 2);
  const RunResult device = check_ops({"--device", "cuda99"});
  EXPECT_EQ(device.exit_code, 1);
  EXPECT_THAT(device.err, HasSubstr("cuda99"));
}

}  // namespace
}  // namespace shunt::test::check_ops_test
