// OutputFile: the name appears with the whole content, or not at all.
#include "shunt/files.h"

#include <fcntl.h>
#include <fmt/format.h>
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

namespace shunt::base_output_file_test {
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

TEST(OutputFile, IsClosedUnderATemporaryNameUntilItIsCommitted) {
  const TempFolder folder;
  const std::string path = folder.write("x", bytes_of("before"));
  const std::string temporary = fmt::format(".shunt-{}-0.tmp", ::getpid());
  {
    auto dropped = OutputFile::create(path, WriteTo::kFile);
    ASSERT_TRUE(dropped) << dropped.error().message();
    ASSERT_TRUE(dropped->write(bytes_of("dropped")));
    ASSERT_TRUE(dropped->close());
    EXPECT_THAT(folder.list(), ElementsAre(temporary, "x"));
    EXPECT_FALSE(dropped->write(bytes_of("more")));
  }
  EXPECT_THAT(folder.list(), ElementsAre("x"));
  EXPECT_EQ(test::read_file(path), "before");
  auto file = OutputFile::create(path, WriteTo::kFile);
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_TRUE(file->write(bytes_of("after")));
  ASSERT_TRUE(file->close());
  ASSERT_TRUE(file->close());
  EXPECT_EQ(test::read_file(path), "before");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(test::read_file(path), "after");
  EXPECT_THAT(folder.list(), ElementsAre("x"));
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
  const std::string taken = fmt::format(".shunt-{}-0.tmp", ::getpid());
  folder.write(taken, bytes_of("of another program"));
  EXPECT_TRUE(write_file(folder.file("x"), "text", WriteTo::kFile));
  EXPECT_THAT(folder.list(), ElementsAre(taken, "x"));
  EXPECT_EQ(test::read_file(folder.file(taken)), "of another program");
}

TEST(OutputFile, KeepsThePermissionsOfTheFileThatItReplaces) {
  const TempFolder folder;
  const std::string path = folder.write("x", bytes_of("before"));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_TRUE(write_file(path, "text", WriteTo::kFile));
  struct stat there = {};
  ASSERT_EQ(::stat(path.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777U, 0600U);
}

TEST(OutputFile, FollowsChainsOfLinks) {
  const TempFolder folder;
  std::filesystem::create_symlink("b", folder.file("a"));
  std::filesystem::create_symlink(folder.file("c"), folder.file("b"));
  EXPECT_TRUE(write_file(folder.file("a"), "text", WriteTo::kFile));
  EXPECT_THAT(folder.list(), ElementsAre("a", "b", "c"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("a")));
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(folder.file("c"))));
  std::filesystem::create_symlink("loop", folder.file("loop"));
  EXPECT_FALSE(write_file(folder.file("loop"), "text", WriteTo::kFile));
}

TEST(OutputFile, AppendsToFilesThatAreOpen) {
  const TempFolder folder;
  const int file = ::open(folder.write("x", bytes_of("before")).c_str(), O_WRONLY | O_CLOEXEC);
  const std::string path = fmt::format("/proc/self/fd/{}", file);
  std::filesystem::create_symlink(path, folder.file("link"));
  EXPECT_TRUE(is_open_file(path));
  EXPECT_TRUE(is_open_file(folder.file("link")));
  EXPECT_FALSE(is_open_file(folder.file("x")));
  EXPECT_FALSE(is_open_file("/dev/null"));
  EXPECT_TRUE(write_file(folder.file("link"), " and after", WriteTo::kAnything));
  EXPECT_EQ(test::read_file(folder.file("x")), "before and after");
  EXPECT_FALSE(write_file(folder.file("link"), "text", WriteTo::kFile));
  ::close(file);
}

TEST(OutputFile, NamesTheFileThatCannotBeCreated) {
  const TempFolder folder;
  const Status missing = write_file(folder.file("no/x"), "text", WriteTo::kFile);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message(), HasSubstr(folder.file("no/x")));
  EXPECT_EQ(write_file("", "text", WriteTo::kAnything).error().code(), ErrorCode::kInvalidArgument);
}

TEST(OutputFile, AcceptsTheLongestFileName) {
  const TempFolder folder;
  const std::string name(255, 'x');
  folder.write(name, bytes_of("before"));
  EXPECT_TRUE(write_file(folder.file(name), "text", WriteTo::kFile));
  EXPECT_EQ(test::read_file(folder.file(name)), "text");
}

TEST(OutputFile, ReadOnlyFilesAreNotReplaced) {
  const TempFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  const std::string path = folder.write("x", bytes_of("before"));
  ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
  {
    const test::WithoutPrivileges user(folder.path());
    EXPECT_FALSE(write_file(path, "text", WriteTo::kAnything));
  }
  EXPECT_EQ(test::read_file(path), "before");
}

TEST(OutputFile, ReadOnlyFolderIsAnError) {
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
}  // namespace shunt::base_output_file_test
