// `shunt train-tokenizer --file d.txt -o d.txt` replaced the text by a vocabulary, with exit code
// 0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"

namespace shunt::test::train_tokenizer_overwrites_its_text_test {
namespace {

TEST(TrainTokenizerCommand, DoesNotOverwriteItsText) {
  const TempFolder folder;
  const std::string text = "Once upon a time there was a model. It was small.\n";
  const std::string path = folder.write("d.txt", std::as_bytes(std::span(text)));
  const RunResult result =
      run_command({"train-tokenizer", "--file", path, "--vocab-size", "300", "-o", path});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, testing::HasSubstr(path));
  EXPECT_EQ(read_file(path), text);
}

}  // namespace
}  // namespace shunt::test::train_tokenizer_overwrites_its_text_test
