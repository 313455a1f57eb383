// stories260K on the accelerator made of the parts of backend_support, alone and together with the
// CPU: the same text, on threads and in several orders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/run_command.h"
#include "support/shared.h"
#include "support/stories.h"
#include "test_paths.h"

namespace shunt::test::test_accelerator_test {
namespace {

using ::testing::HasSubstr;

class TestAcceleratorModel : public testing::TestWithParam<const char*> {};

TEST_P(TestAcceleratorModel, GeneratesTheSameTextTogetherWithTheCpu) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  const Stories told = stories_260k();
  RunOptions options;
  options.environment["SHUNT_BACKEND_PATH"] = SHUNT_TEST_ACCELERATOR_PLUGINS;
  const RunResult result =
      run_command({"run", "--model", told.path, "-n", told.count(), "--temp", "0", "--devices",
                   GetParam(), "--rules-only", "--prompt", told.prompt},
                  options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, told.text + "\n");
  EXPECT_THAT(result.err, HasSubstr(GetParam()));  // memory of weights on it
}

/// It offers its packed form for every weight, and only products read that.
TEST(TestAcceleratorForms, ExplainReportsUnpackedWeightsAndTheReason) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  RunOptions options;
  options.environment["SHUNT_BACKEND_PATH"] = SHUNT_TEST_ACCELERATOR_PLUGINS;
  const RunResult result = run_command(
      {"explain", "--model", stories_260k().path, "--devices", "accel0", "--rules-only"}, options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(
      result.out,
      testing::ContainsRegex("accel0: .* is not in accel0 weights memory \\(reversed\\): .* reads "
                             "no reversed bytes; [0-9]+ more weights lack it for similar reasons"));
}

INSTANTIATE_TEST_SUITE_P(Devices, TestAcceleratorModel,
                         testing::Values("accel0", "accel1", "accel2", "accel3", "accel4",
                                         "accel5"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace shunt::test::test_accelerator_test
