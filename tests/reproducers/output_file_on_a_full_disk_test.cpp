// `place -o`, `explain --html` and the costs of `bench` left an empty file on a full disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"

namespace shunt::test::output_file_on_a_full_disk_test {
namespace {

TEST(OutputFile, IsAbsentAfterAFullDisk) {
  const TempFolder folder;
  const SynthModel model;
  const std::vector<std::vector<std::string>> commands = {
      {"place", "-m", model.path(), "-o", folder.file("out")},
      {"explain", "-m", model.path(), "--html", folder.file("out")},
      {"bench", "costs", "--width", "64", "--seconds", "0", "-t", "1", "--devices", "cpu0", "-o",
       folder.file("out")}};
  for (const auto& command : commands) {
    // A limit on the size of files fails in write(), as a full disk does. The command inherits it.
    struct rlimit before = {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit limit = {100, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    const RunResult result = run_command(command);
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(result.exit_code, 1) << command[0] << ": " << result.err;
    EXPECT_THAT(folder.list(), testing::IsEmpty()) << command[0];
  }
}

}  // namespace
}  // namespace shunt::test::output_file_on_a_full_disk_test
