// `shunt bench`: what it prints, and what it saves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shunt/costs.h"
#include "support/gguf_bytes.h"
#include "support/run_command.h"

namespace shunt::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(BenchCommand, SavesWhatItMeasured) {
  const TempFolder folder;
  const std::string path = folder.file("costs.json");
  const RunResult result = run_command({"bench", "--width", "64", "--seconds", "0", "--save-costs",
                                        path, "--devices", "cpu0", "--threads", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("matmul"), HasSubstr("attention"), HasSubstr("cpu0")));
  const auto read = CostModel::load(path);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->ops().size(), 11U);
  EXPECT_EQ(run_command({"bench", "--width", "100"}).exit_code, 2);
}

}  // namespace
}  // namespace shunt::test
