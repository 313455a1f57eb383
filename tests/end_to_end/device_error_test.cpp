// `shunt run` with a device that is lost on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/models.h"
#include "support/run_command.h"
#include "test_paths.h"

namespace shunt::test::device_error_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DeviceError : public ::testing::Test {
 protected:
  RunResult run(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {
        "run",   "--model", model_.path(), "--ignore-eos", "-n", "16", "-p",
        "Hello", "--temp",  "0",           "-c",           "64", "-b", "4"};
    words.insert(words.end(), more.begin(), more.end());
    RunOptions options;
    options.environment = {{"SHUNT_BACKEND_PATH", SHUNT_TEST_LOST_PLUGINS}};
    return run_command(words, options);
  }
  SynthModel model_;
};

TEST_F(DeviceError, EndsTheRunAndNamesTheDevice) {
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{}, std::vector<std::string>{"--on-device-error", "fail"}}) {
    const RunResult result = run(flags);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr("test0: "), HasSubstr("for segment"),
                                  HasSubstr("(code 719: as the test wanted it)")));
    EXPECT_THAT(result.err, Not(HasSubstr("left out")));
  }
}

TEST_F(DeviceError, FallbackContinuesWithoutTheDeviceAndReportsIt) {
  const RunResult alone = run({"--devices", "cpu0"});
  ASSERT_EQ(alone.exit_code, 0);
  const RunResult result = run({"--on-device-error", "fallback"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, alone.out);
  EXPECT_THAT(result.err, AllOf(HasSubstr("shunt: test0 failed and is left out: "),
                                HasSubstr("(code 719: as the test wanted it)"),
                                HasSubstr("of weights are read again")));
}

TEST_F(DeviceError, OtherModesAreWrongUsage) {
  const RunResult result = run({"--on-device-error", "ignore"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("\"ignore\" is not fail or fallback"));
}

}  // namespace
}  // namespace shunt::test::device_error_test
