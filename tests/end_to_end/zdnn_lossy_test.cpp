// Quantised weights as 8-bit numbers of a z17, by its twin, as a user runs it.
#include <gmock/gmock.h>

#include "support/gguf_bytes.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "test_paths.h"

namespace shunt::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kModel = "data/models/stories260K.gguf";

class ZdnnLossy : public testing::Test {
 protected:
  void SetUp() override {
    SHUNT_NEED_SHARED(kModel);
    if (*SHUNT_TEST_ZDNN_TWIN == '\0') GTEST_SKIP() << "there is no twin of zDNN in this build";
    if (run({"devices"}).out.find("zdnn0") == std::string::npos) {
      GTEST_SKIP() << "there is no zDNN backend in this build";
    }
    const RunResult made = run_command({"quantize", shared_path(kModel), model(), "Q8_0"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  std::string model() const { return folder_.file("q8.gguf"); }
  static RunResult run(std::vector<std::string> words, const char* profile = "z17") {
    words.insert(words.end(), {"--library", std::string("zdnn=") + SHUNT_TEST_ZDNN_TWIN});
    RunOptions options;
    options.environment["ZDNN_TWIN_PROFILE"] = profile;
    options.environment["ZDNN_TWIN_STRICT"] = "status";
    return run_command(words, options);
  }
  RunResult greedy(const char* transcode, const char* profile = "z17") const {
    return run({"run", "--model", model(), "-n", "64", "--temp", "0", "--devices", "zdnn0",
                "--transcode", transcode, "--fallback", "allow", "--prompt", "Once upon a time"},
               profile);
  }

  TempFolder folder_;
};

TEST_F(ZdnnLossy, WritesAStoryAndSaysWhatItCost) {
  const RunResult lossy = greedy("lossy");
  EXPECT_EQ(lossy.exit_code, 0) << lossy.err;
  EXPECT_THAT(lossy.out, HasSubstr("Once upon a time, there was a little"));
  EXPECT_THAT(lossy.err, HasSubstr("weights came as I8 instead of Q8_0: error "));
  EXPECT_THAT(lossy.err, Not(HasSubstr("met numbers beyond")));
  const RunResult precise = greedy("precise");
  EXPECT_EQ(precise.exit_code, 0) << precise.err;
  EXPECT_THAT(precise.err, Not(HasSubstr("came as I8")));
}

TEST_F(ZdnnLossy, IsVerifiedWithWhatTheWeightsCost) {
  const RunResult lossy = run(
      {"verify", "--model", model(), "--device", "zdnn0", "--transcode", "lossy", "--top", "1"});
  EXPECT_EQ(lossy.exit_code, 0) << lossy.out << lossy.err;
  EXPECT_THAT(lossy.out, HasSubstr(" 0 wrong"));
  EXPECT_THAT(lossy.out, HasSubstr("weights came as I8 instead of Q8_0: error "));
  const RunResult precise = run({"verify", "--model", model(), "--device", "zdnn0", "--top", "1"});
  EXPECT_EQ(precise.exit_code, 0) << precise.out << precise.err;
  EXPECT_THAT(precise.out, Not(HasSubstr("I8")));
}

TEST_F(ZdnnLossy, IsNotOfAZ16WhichSaysWhy) {
  const RunResult result = greedy("lossy", "z16");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, greedy("precise", "z16").out);
  EXPECT_THAT(result.err, HasSubstr("zdnn0: no lossy form of weights: zdnn_quantized_matmul_op"));
  EXPECT_THAT(result.err, HasSubstr("came with z17"));
}

}  // namespace
}  // namespace shunt::test
