// `shunt imatrix --file d.txt -o d.txt` replaced the text by an importance matrix, with exit code
// 0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"

namespace shunt::test::imatrix_overwrites_its_text_test {
namespace {

TEST(ImatrixCommand, DoesNotOverwriteItsText) {
  const TempFolder folder;
  const std::string text = "Once upon a time there was a model. It was small.\n";
  const std::string path = folder.write("d.txt", std::as_bytes(std::span(text)));
  const SynthModel model;
  const RunResult result =
      run_command({"imatrix", "-m", model.path(), "--ctx", "16", "--file", path, "-o", path});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, testing::HasSubstr(path));
  EXPECT_EQ(read_file(path), text);
}

}  // namespace
}  // namespace shunt::test::imatrix_overwrites_its_text_test
