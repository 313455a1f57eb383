// `shunt train`: from a text to a model that `shunt run` uses, also if it is stopped on the way.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "shunt/gguf.h"
#include "support/gguf_bytes.h"
#include "support/run_command.h"
#include "support/shared.h"

namespace shunt::test::train_command_test {
namespace {

using testing::HasSubstr;

class TrainCommand : public testing::Test {
 protected:
  TrainCommand() {
    std::string text;
    for (int i = 0; i < 40; ++i)
      text += "the cat sat on the mat\n<|end|>\na dog ran off\n<|end|>\n";
    text_ = folder_.write("text.txt", std::as_bytes(std::span(text)));
    vocabulary_ = path("vocabulary.gguf");
    const RunResult made = run_command({"train-tokenizer", "--file", text_, "--vocab-size", "280",
                                        "--special", "<|end|>", "-o", vocabulary_});
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }

  std::string path(const std::string& name) const { return folder_.file(name); }
  /// A new model, as small as it can be.
  std::vector<std::string> train(const std::string& out, const std::string& steps) const {
    return {"train",     text_,      "--name", "small",   "-o",     path(out), "--vocab",
            vocabulary_, "--layers", "1",      "--ff",    "64",     "--width", "32",
            "--heads",   "2",        "--ctx",  "16",      "--rows", "4",       "--lr",
            "0.02",      "--warmup", "5",      "--every", "10",     "--steps", steps};
  }

  TempFolder folder_;
  std::string text_;
  std::string vocabulary_;
};

TEST_F(TrainCommand, TrainedModelReproducesTheText) {
  const RunResult made = run_command(train("model.gguf", "60"));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("a new model of "));
  EXPECT_THAT(made.out, HasSubstr("step 60 of 60: loss "));
  EXPECT_THAT(made.out, HasSubstr("bits per byte"));
  EXPECT_FALSE(std::filesystem::exists(path(".model.gguf.shunt-train")));
  const RunResult run =
      run_command({"run", "-m", path("model.gguf"), "the cat sat on", "--temp", "0", "-n", "20"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("the cat sat on the mat\n"));
}

TEST_F(TrainCommand, ContinuesFromAModel) {
  ASSERT_EQ(run_command(train("first.gguf", "20")).exit_code, 0);
  const RunResult more =
      run_command({"train", text_, "-o", path("second.gguf"), "--model", path("first.gguf"),
                   "--steps", "1", "--warmup", "0", "--ctx", "16", "--rows", "4"});
  EXPECT_EQ(more.exit_code, 0) << more.err;
  // Without training it would be near the logarithm of 280, 5.6.
  const std::size_t at = more.out.find("loss ");
  ASSERT_NE(at, std::string::npos) << more.out;
  EXPECT_LT(std::stod(more.out.substr(at + 5)), 3);
}

TEST_F(TrainCommand, ResumesAnInterruptedTraining) {
  ASSERT_EQ(run_command(train("whole.gguf", "1000")).exit_code, 0);
  RunOptions stop;
  stop.interrupt_after = 200;  // a line of the first steps is there
  const RunResult stopped = run_command(train("model.gguf", "1000"), stop);
  EXPECT_EQ(stopped.exit_code, 128 + SIGINT) << stopped.err;
  EXPECT_FALSE(std::filesystem::exists(path("model.gguf")));
  ASSERT_TRUE(std::filesystem::exists(path(".model.gguf.shunt-train/checkpoint.gguf")));
  EXPECT_FALSE(std::filesystem::exists(path(".model.gguf.shunt-train/lock")));

  const RunResult other = run_command(train("model.gguf", "999"));
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.err, HasSubstr("steps=999"));
  auto wider = train("model.gguf", "1000");
  *std::ranges::find(wider, "64") = "96";
  const RunResult model = run_command(wider);
  EXPECT_EQ(model.exit_code, 1);
  EXPECT_THAT(model.err, HasSubstr("needs the model"));

  const RunResult again = run_command(train("model.gguf", "1000"));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("resumed after step"));
  EXPECT_TRUE(read_file(path("model.gguf")) == read_file(path("whole.gguf")));
}

TEST_F(TrainCommand, DoesNotOverwriteFilesThatAreNoCheckpoint) {
  ASSERT_EQ(run_command(train("model.gguf", "5")).exit_code, 0);
  const std::string before = read_file(path("model.gguf"));
  const auto refused = [&](std::vector<std::string> more, int exit_code) {
    std::vector<std::string> arguments = {"train", text_, "--ctx", "16"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const RunResult result = run_command(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_THAT(result.err, HasSubstr("checkpoint"));
    EXPECT_TRUE(read_file(path("model.gguf")) == before);
  };
  const std::string model = path("model.gguf");
  refused({"-o", model, "--vocab", vocabulary_, "--checkpoint", model}, 2);
  refused({"-o", path("b.gguf"), "--model", model, "--checkpoint", model}, 2);
  refused({"-o", path("b.gguf"), "--vocab", vocabulary_, "--checkpoint", model}, 1);
}

TEST_F(TrainCommand, DoesNotTouchFilesNamedLikeTheOutputWithASuffix) {
  for (const char* end : {".start", ".checkpoint"}) {
    folder_.write(std::string("model.gguf") + end, std::as_bytes(std::span("mine", 4)));
  }
  ASSERT_EQ(run_command(train("model.gguf", "5")).exit_code, 0);
  for (const char* end : {".start", ".checkpoint"}) {
    EXPECT_EQ(read_file(path(std::string("model.gguf") + end)), "mine");
  }
}

TEST_F(TrainCommand, FailsWhileAnotherProcessTrainsToTheSameFile) {
  std::filesystem::create_directory(path(".model.gguf.shunt-train"));
  const std::string lock = folder_.write(".model.gguf.shunt-train/lock", {});
  const int held = ::open(lock.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  const RunResult second = run_command(train("model.gguf", "5"));
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, HasSubstr("another process is training to this file"));
  EXPECT_FALSE(std::filesystem::exists(path("model.gguf")));
  ::close(held);
  EXPECT_EQ(run_command(train("model.gguf", "5")).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(path(".model.gguf.shunt-train")));
}

TEST_F(TrainCommand, RemovesLeftoversOfAKilledTraining) {
  std::filesystem::create_directory(path(".model.gguf.shunt-train"));
  for (const char* name : {"start.gguf", "lock", ".shunt-1-0.tmp"}) {
    folder_.write(std::string(".model.gguf.shunt-train/") + name, {});
  }
  ASSERT_EQ(run_command(train("model.gguf", "5")).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(path(".model.gguf.shunt-train")));
}

TEST_F(TrainCommand, CheckpointIsLocked) {
  std::filesystem::create_directory(path(".c.shunt-train"));
  const std::string lock = folder_.write(".c.shunt-train/lock", {});
  const int held = ::open(lock.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  auto arguments = train("model.gguf", "5");
  arguments.insert(arguments.end(), {"--checkpoint", path("c")});
  EXPECT_EQ(run_command(arguments).exit_code, 1);
  ::close(held);
  EXPECT_EQ(run_command(arguments).exit_code, 0);
  arguments.back() = path(".model.gguf.shunt-train/start.gguf");
  EXPECT_EQ(run_command(arguments).exit_code, 2);
}

TEST_F(TrainCommand, ReportsUnusableTextsAndVocabularies) {
  const auto fails = [&](const std::string& text, const std::string& vocabulary, const char* said) {
    const RunResult result =
        run_command({"train", text, "-o", path("none.gguf"), "--vocab", vocabulary, "--ctx", "16"});
    EXPECT_EQ(result.exit_code, 1) << said;
    EXPECT_THAT(result.err, HasSubstr(said));
    for (const char* name : {"none.gguf", ".none.gguf.shunt-train"}) {
      EXPECT_FALSE(std::filesystem::exists(path(name))) << said << name;
    }
  };
  fails(path("missing.txt"), vocabulary_, "missing.txt");
  fails(text_, path("missing.gguf"), "missing.gguf");
  const std::string empty = folder_.write("empty.txt", {});
  fails(empty, vocabulary_, "no text");
  const std::string one = folder_.write("one.txt", std::as_bytes(std::span("all one text", 12)));
  fails(one, vocabulary_, "1 document");
}

}  // namespace
}  // namespace shunt::test::train_command_test
