// `shunt train -o X` overwrote and deleted any file `X.start`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"

namespace shunt::test::train_deletes_a_file_named_start_test {
namespace {

TEST(TrainCommand, KeepsAFileNamedStart) {
  const TempFolder folder;
  const SynthModel model;
  const std::string text(400, 'a');
  const std::string path = folder.write("d.txt", std::as_bytes(std::span(text)));
  const std::string mine = folder.write("out.start", std::as_bytes(std::span("mine", 4)));
  const RunResult result =
      run_command({"train", path, "--vocab", model.path(), "--validation-share", "0", "--ctx", "16",
                   "--steps", "1", "-o", folder.file("out")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_file(mine), "mine");
}

}  // namespace
}  // namespace shunt::test::train_deletes_a_file_named_start_test
