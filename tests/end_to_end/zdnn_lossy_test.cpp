// Quantised weights as 8-bit numbers of a z17, by its twin, as a user runs it.
#include <gmock/gmock.h>

#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "support/stories.h"
#include "test_paths.h"

namespace shunt::test::zdnn_lossy_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class ZdnnLossy : public testing::Test {
 protected:
  void SetUp() override {
    if (*SHUNT_TEST_ZDNN_TWIN == '\0') GTEST_SKIP() << "there is no twin of zDNN in this build";
    if (run({"devices"}).out.find("zdnn0") == std::string::npos) {
      GTEST_SKIP() << "there is no zDNN backend in this build";
    }
  }
  static std::string model() { return stories().path; }
  static RunResult run(std::vector<std::string> words, const char* profile = "z17") {
    words.insert(words.end(), {"--library", std::string("zdnn=") + SHUNT_TEST_ZDNN_TWIN});
    RunOptions options;
    options.environment["ZDNN_TWIN_PROFILE"] = profile;
    options.environment["ZDNN_TWIN_STRICT"] = "status";
    return run_command(words, options);
  }
  static RunResult greedy(const char* transcode, const char* profile = "z17") {
    return run(
        {"run", "--model", model(), "-n", stories().count(), "--temp", "0", "--devices", "zdnn0",
         "--transcode", transcode, "--fallback", "allow", "--prompt", stories().prompt},
        profile);
  }
};

TEST_F(ZdnnLossy, GeneratesTheTextAndReportsTheTranscodingError) {
  const RunResult lossy = greedy("lossy");
  EXPECT_EQ(lossy.exit_code, 0) << lossy.err;
  EXPECT_THAT(lossy.out, testing::Eq(stories().text + "\n"));
  EXPECT_THAT(lossy.err, HasSubstr("weights came as I8 instead of Q8_0: error "));
  EXPECT_THAT(lossy.err, Not(HasSubstr("had numbers outside the range")));
  const RunResult precise = greedy("precise");
  EXPECT_EQ(precise.exit_code, 0) << precise.err;
  EXPECT_THAT(precise.err, Not(HasSubstr("came as I8")));
}

/// Of numbers whose largest is not far from the others, as noise is.
TEST_F(ZdnnLossy, PassesVerifyAndReportsTheTranscodingError) {
  SynthOptions options;
  options.dtype = DType::kQ8_0;
  const SynthModel noise(options);
  const RunResult lossy = run({"verify", "--model", noise.path(), "--device", "zdnn0",
                               "--transcode", "lossy", "--top", "1"});
  EXPECT_EQ(lossy.exit_code, 0) << lossy.out << lossy.err;
  EXPECT_THAT(lossy.out, HasSubstr(" 0 wrong"));
  EXPECT_THAT(lossy.out, HasSubstr("weights came as I8 instead of Q8_0: error "));
  const RunResult precise = run({"verify", "--model", model(), "--device", "zdnn0", "--top", "1"});
  EXPECT_EQ(precise.exit_code, 0) << precise.out << precise.err;
  EXPECT_THAT(precise.out, Not(HasSubstr("I8")));
}

TEST_F(ZdnnLossy, PassesVerifyWithStories260K) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  const TempFolder folder;
  const std::string quantized = folder.file("q8.gguf");
  ASSERT_EQ(run_command({"quantize", stories_260k().path, quantized, "Q8_0"}).exit_code, 0);
  const RunResult lossy = run(
      {"verify", "--model", quantized, "--device", "zdnn0", "--transcode", "lossy", "--top", "1"});
  EXPECT_EQ(lossy.exit_code, 0) << lossy.out << lossy.err;
  EXPECT_THAT(lossy.out, HasSubstr(" 0 wrong"));
}

/// A model that has learned has products of numbers far beyond the others: one scale for them all
/// is too coarse, which is found out.
TEST_F(ZdnnLossy, FailsVerifyForActivationsWithOutliers) {
  const RunResult lossy = run(
      {"verify", "--model", model(), "--device", "zdnn0", "--transcode", "lossy", "--top", "1"});
  EXPECT_EQ(lossy.exit_code, 1) << lossy.out << lossy.err;
  EXPECT_THAT(lossy.err, testing::ContainsRegex("of [0-9]+ operations are wrong on zdnn0; the "
                                                "worst is blk.[0-9]+.ffn_down \\(matmul\\)"));
}

TEST_F(ZdnnLossy, IsUnavailableOnZ16WithAReason) {
  const RunResult result = greedy("lossy", "z16");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, greedy("precise", "z16").out);
  EXPECT_THAT(result.err, HasSubstr("zdnn0: no lossy form of weights: zdnn_quantized_matmul_op"));
  EXPECT_THAT(result.err, HasSubstr("came with z17"));
}

}  // namespace
}  // namespace shunt::test::zdnn_lossy_test
