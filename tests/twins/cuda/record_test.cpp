// The recorder, on the twin itself.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace record_test {

const std::string kLibrary = CUDA_TWIN_PATH;
const std::string kRecorder = kLibrary.substr(0, kLibrary.rfind('/')) + "/cuda_twin_record";

struct Ended {
  int code = -1;
  std::string text;
};

Ended record(const std::string& arguments) {
  Ended ended;
  const std::string command = kRecorder + " " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ended;
  char part[4096];
  for (std::size_t n = 0; (n = fread(part, 1, sizeof part, pipe)) > 0;) ended.text.append(part, n);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  return ended;
}

class Recorder : public ::testing::Test {
 protected:
  ~Recorder() override { (void)std::remove(file_.c_str()); }
  void write(const std::string& text) const { std::ofstream(file_) << text; }

  const std::string file_ = ::testing::TempDir() + "cuda_twin_record_" + std::to_string(getpid());
};

TEST_F(Recorder, WritesEveryInstructionAndItsResults) {
  const Ended ended = record(kLibrary);
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.text.rfind("# NVIDIA H200, driver 13000\n", 0), 0u) << ended.text.substr(0, 100);
  EXPECT_EQ(ended.text.find("fails"), std::string::npos);
  EXPECT_NE(ended.text.find("\nadd.sat.s32 %d, %a, %b  #4 80000000 80000000 -> 80000000\n"),
            std::string::npos);
  EXPECT_NE(ended.text.find("\nmma.sync"), std::string::npos);
}

TEST_F(Recorder, ComparesWithAFile) {
  std::string text = record(kLibrary).text;
  write(text);
  const std::string arguments = kLibrary + " --compare " + file_;
  EXPECT_EQ(record(arguments).code, 0);
  const std::string line = "add.s32 %d, %a, %b  #1 00000001 00000001 -> 0000000";
  const std::size_t at = text.find(line);
  ASSERT_NE(at, std::string::npos);
  text[at + line.size()] = '3';
  write(text);
  const Ended ended = record(arguments);
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.text.rfind(line + "2\n1 of ", 0), 0u) << ended.text;
}

TEST_F(Recorder, RefusesFilesThatAreNotThere) {
  EXPECT_EQ(record("/nonexistent/libcuda.so.1").code, 2);
  EXPECT_EQ(record(kLibrary + " --compare /nonexistent/file").code, 1);
  EXPECT_EQ(record("").code, 2);
}

}  // namespace record_test
