// How commands end before their end: Ctrl-C and other signals, a reader that goes away, a disk that
// is full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "support/models.h"
#include "support/run_command.h"
#include "test_paths.h"

namespace shunt::test::interrupt_test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

/// Large enough that a run of all its context takes much longer than any test.
class Interrupt : public testing::Test {
 protected:
  Interrupt() : model_(options()) {}
  static SynthOptions options() {
    SynthOptions options;
    options.context = 1 << 20;
    return options;
  }
  std::vector<std::string> endless() const {
    return {"run",   "--model", model_.path(), "--ignore-eos", "-p",
            "Hello", "--ctx",   "100000",      "--seed",       "1"};
  }
  SynthModel model_;
};

TEST_F(Interrupt, CtrlCEndsTheTextWithANewline) {
  RunOptions options;
  options.interrupt_after = 20;
  const RunResult result = run_command(endless(), options);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.out, EndsWith("\n"));
  EXPECT_THAT(result.err, HasSubstr("cancelled"));
  EXPECT_THAT(result.err, HasSubstr("tokens/s"));
}

TEST_F(Interrupt, SigtermAndSighupEndTheTextWithANewline) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    RunOptions options;
    options.interrupt_after = 20;
    options.signals = {signal};
    const RunResult result = run_command(endless(), options);
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.exit_code, 128 + signal) << result.err;
    EXPECT_THAT(result.out, EndsWith("\n"));
    EXPECT_THAT(result.err, HasSubstr("cancelled"));
  }
}

/// A device that never comes back: the command does not end the text, but says how to end the
/// process.
TEST_F(Interrupt, SecondSignalEndsARunWaitingForADevice) {
  for (const std::vector<int>& signals :
       {std::vector<int>{SIGINT, SIGINT}, {SIGTERM, SIGTERM}, {SIGINT, SIGTERM}}) {
    RunOptions options;
    options.environment["SHUNT_BACKEND_PATH"] = SHUNT_TEST_HANGING_PLUGINS;
    options.interrupt_when_it_complains = true;  // twice: that it hangs, and that it waits
    options.signals = signals;
    auto words = endless();
    words.insert(words.end(), {"--fallback", "allow"});  // without a word
    const RunResult result = run_command(words, options);
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.exit_code, 128 + signals[1]);
    EXPECT_EQ(result.out, "Hello");
    EXPECT_EQ(result.err,
              "test0 hangs\nshunt: waiting for the device's current operation to end; a second "
              "Ctrl-C ends the "
              "process at once\n");
  }
}

TEST_F(Interrupt, ClosedOutputPipeIsNoError) {
  RunOptions options;
  options.close_output_after = 20;
  const RunResult result = run_command(endless(), options);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
}

TEST_F(Interrupt, FullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  RunOptions options;
  options.output_file = "/dev/full";
  const RunResult result = run_command(endless(), options);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("standard output"));
  EXPECT_EQ(run_command({"ops"}, options).exit_code, 1);
}

TEST_F(Interrupt, InspectEndsQuietlyOnAClosedPipe) {
  RunOptions options;
  options.close_output_after = 1;
  EXPECT_EQ(run_command({"inspect", "--tensors", model_.path()}, options).exit_code, 0);
}

/// Files that are written through a temporary file.
class InterruptedFile : public testing::Test {
 protected:
  InterruptedFile() : model_(large_rows()) {}
  /// Rows of whole blocks of 256, and enough of them that to encode them takes a while.
  static SynthOptions large_rows() {
    SynthOptions options;
    options.layers = 5;
    options.width = 256;
    options.feed_forward = 256;
    options.heads = 4;
    options.kv_heads = 2;
    options.vocabulary = 300;
    return options;
  }
  std::string out() const { return folder_.file("out.gguf"); }
  /// A signal comes right before it begins: once it has said that nothing is to be kept.
  RunResult quantize(const std::string& type, int signal, int ignored = 0) const {
    RunOptions options;
    options.interrupt_when_it_complains = true;
    options.signals = {signal};
    options.ignored_signal = ignored;
    return run_command({"quantize", model_.path(), out(), type, "--keep", "none"}, options);
  }
  SynthModel model_;
  TempFolder folder_;
};

TEST_F(InterruptedFile, QuantizeLeavesNoFile) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const RunResult result = quantize("IQ3_XXS", signal);
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.exit_code, 128 + signal) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(folder_.list().empty()) << signal;
  }
}

TEST_F(InterruptedFile, QuantizeKeepsTheExistingFile) {
  folder_.write("out.gguf", std::array<std::byte, 14>{});
  const RunResult result = quantize("IQ3_XXS", SIGTERM);
  EXPECT_EQ(result.exit_code, 143) << result.err;
  EXPECT_THAT(folder_.list(), ElementsAre("out.gguf"));
  EXPECT_EQ(std::filesystem::file_size(out()), 14U);
}

TEST_F(InterruptedFile, IsWrittenIfTheSignalIsIgnored) {
  const RunResult result = quantize("Q4_K", SIGHUP, SIGHUP);  // as nohup does
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(folder_.list(), ElementsAre("out.gguf"));
}

TEST_F(InterruptedFile, ImatrixLeavesNoFile) {
  RunOptions options;
  options.input = "some words \xff";  // not UTF-8: it prints a warning, then computes
  for (int i = 0; i < 4000; ++i) options.input += "some words of a text that goes on and on. ";
  options.interrupt_when_it_complains = true;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    options.signals = {signal};
    const RunResult result =
        run_command({"imatrix", "-m", model_.path(), "-o", out(), "--ctx", "32"}, options);
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.exit_code, 128 + signal) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(folder_.list().empty()) << signal;
  }
}

}  // namespace
}  // namespace shunt::test::interrupt_test
