// OutputFile: the name appears with the whole content, or not at all.
#include "base/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "support/gguf_bytes.h"
#include "support/privileges.h"
#include "support/shared.h"

namespace shunt::output_file_test {
namespace {

using test::TempFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(OutputFile, ReplacesAFileOnlyWhenItIsComplete) {
  const TempFolder folder;
  const std::string path = folder.write("x", bytes_of("before"));
  {
    auto file = OutputFile::create(path, WriteTo::kFile);
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_TRUE(file->write(bytes_of("after")));
    EXPECT_FALSE(file->in_place());
    EXPECT_EQ(test::read_file(path), "before");
    ASSERT_TRUE(file->commit());
  }
  EXPECT_EQ(test::read_file(path), "after");
  EXPECT_THAT(folder.list(), ElementsAre("x"));
}

TEST(OutputFile, LeavesNothingWithoutCommit) {
  const TempFolder folder;
  {
    auto file = OutputFile::create(folder.file("x"), WriteTo::kFile);
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_TRUE(file->write(bytes_of("half")));
  }
  EXPECT_THAT(folder.list(), IsEmpty());
}

TEST(OutputFile, LeavesNothingWhenTheProcessIsKilled) {
  const TempFolder folder;
  const int nameless = ::open(folder.path().c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (nameless < 0) GTEST_SKIP() << "this file system has no files without a name";
  ::close(nameless);
  const pid_t child = ::fork();
  if (child == 0) {
    auto file = OutputFile::create(folder.file("x"), WriteTo::kFile);
    if (!file || !file->write(bytes_of("half"))) ::_exit(1);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_THAT(folder.list(), IsEmpty());
}

TEST(OutputFile, HasThePermissionsOfTheUmask) {
  const TempFolder folder;
  const mode_t before = ::umask(027);
  EXPECT_TRUE(write_file(folder.file("x"), "text", WriteTo::kFile));
  ::umask(before);
  struct stat there = {};
  ASSERT_EQ(::stat(folder.file("x").c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777U, 0640U);
}

TEST(OutputFile, DoesNotTouchFilesThatHaveItsTemporaryNames) {
  const TempFolder folder;
  const std::string taken = fmt::format("x.{}-0.tmp", ::getpid());
  folder.write(taken, bytes_of("of another program"));
  EXPECT_TRUE(write_file(folder.file("x"), "text", WriteTo::kFile));
  EXPECT_THAT(folder.list(), ElementsAre("x", taken));
  EXPECT_EQ(test::read_file(folder.file(taken)), "of another program");
}

TEST(OutputFile, NamesTheFileThatCannotBeCreated) {
  const TempFolder folder;
  const Status missing = write_file(folder.file("no/x"), "text", WriteTo::kFile);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message(), HasSubstr(folder.file("no/x")));
  EXPECT_EQ(write_file("", "text", WriteTo::kAnything).error().code(), ErrorCode::kInvalidArgument);
}

TEST(OutputFile, ReadOnlyFoldersAreAnError) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.file("closed"));
  ASSERT_EQ(::chmod(folder.file("closed").c_str(), 0555), 0);
  const test::WithoutPrivileges user(folder.path());
  const Status refused = write_file(folder.file("closed/x"), "text", WriteTo::kFile);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kIo);
  EXPECT_THAT(refused.error().message(),
              AllOf(HasSubstr(folder.file("closed/x")), HasSubstr("Permission denied")));
}

}  // namespace
}  // namespace shunt::output_file_test
