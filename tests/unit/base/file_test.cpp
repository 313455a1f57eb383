// MappedFile and InputFile: the bytes, and the messages of refusals.
#include "base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/aligned_bytes.h"
#include "support/advice.h"
#include "support/gguf_bytes.h"
#include "support/privileges.h"
#include "support/resident.h"

namespace shunt::base_file_test {
namespace {

using test::Bytes;
using test::TempFolder;
using testing::ElementsAre;
using testing::HasSubstr;

void expect_error(const std::string& path, ErrorCode code, const char* part) {
  const auto result = MappedFile::open(path);
  ASSERT_FALSE(result) << path;
  EXPECT_EQ(result.error().code(), code);
  EXPECT_THAT(result.error().message(), HasSubstr(path));
  EXPECT_THAT(result.error().message(), HasSubstr(part));
}

TEST(MappedFile, HasTheBytesOfTheFile) {
  const TempFolder folder;
  auto first = MappedFile::open(folder.write("x", Bytes().text("abc").span()));
  ASSERT_TRUE(first) << first.error().message();
  MappedFile file = std::move(*first);
  EXPECT_THAT(file.bytes(), ElementsAre(std::byte{'a'}, std::byte{'b'}, std::byte{'c'}));
  auto second = MappedFile::open(folder.write("y", Bytes().text("d").span()));
  ASSERT_TRUE(second) << second.error().message();
  file = std::move(*second);
  EXPECT_THAT(file.bytes(), ElementsAre(std::byte{'d'}));
}

TEST(InputFile, ReadsPartsUntilTheEnd) {
  const TempFolder folder;
  const std::string path = folder.write("x", Bytes().text("abcdef").span());
  const auto file = InputFile::open(path);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->size(), 6U);
  std::vector<std::byte> two(2);
  ASSERT_TRUE(file->read(3, two));
  EXPECT_THAT(two, ElementsAre(std::byte{'d'}, std::byte{'e'}));
  ASSERT_TRUE(file->read(6, {}));
  std::filesystem::resize_file(path, 4);
  const Status cut = file->read(3, two);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code(), ErrorCode::kIo);
  EXPECT_THAT(cut.error().message(),
              HasSubstr(path + ": it ends at byte 4 now, 1 bytes too early"));
}

TEST(MappedFile, OutlivesTheDeletionOfTheFile) {
  const TempFolder folder;
  const auto file = MappedFile::open(folder.write("x", Bytes().text("abc").span()));
  ASSERT_TRUE(file) << file.error().message();
  std::filesystem::remove(folder.file("x"));
  EXPECT_EQ(file->bytes()[2], std::byte{'c'});
}

TEST(MappedFile, ReleasesOnlyWholePages) {
  const TempFolder folder;
  const std::size_t page = page_size();
  const std::vector<std::byte> bytes(8 * page, std::byte{7});
  const std::string path = folder.write("x", bytes);
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  const auto touch = [&] {
    const std::span<const std::byte> all = file->bytes();
    EXPECT_EQ(std::count(all.begin(), all.end(), std::byte{7}), 8 * static_cast<int>(page));
    EXPECT_EQ(test::resident_bytes(path), 8 * page);
  };
  touch();
  let_go(file->bytes().subspan(1, 3 * page - 2));  // one page, and parts of two
  EXPECT_EQ(test::resident_bytes(path), 7 * page);
  touch();  // the released pages are there again
  let_go(file->bytes().subspan(1, 2 * page - 2));
  let_go(file->bytes().subspan(page, page - 1));
  let_go(file->bytes().first(0));
  let_go({});
  EXPECT_EQ(test::resident_bytes(path), 8 * page);
  let_go(file->bytes());
  EXPECT_EQ(test::resident_bytes(path), 0U);
}

TEST(MappedFile, RandomAccessAdviceReadsNoNeighboringPages) {
  const TempFolder folder;
  const std::size_t page = page_size();
  const std::string path = folder.write("x", std::vector<std::byte>(8 * page, std::byte{7}));
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  set_apart({});
  set_apart(file->bytes().first(0));
  set_apart(file->bytes().subspan(3 * page + 1, page));  // of two pages
  EXPECT_EQ(file->bytes()[3 * page + 1], std::byte{7});
  const std::size_t there = test::resident_bytes(path);
  EXPECT_EQ(file->bytes().back(), std::byte{7});
  if (!test::advice_arrives()) GTEST_SKIP() << "an emulator keeps advice from the system";
  EXPECT_LE(there, 2 * page);
}

TEST(MappedFile, ReadAheadLoadsThePages) {
  const TempFolder folder;
  const std::size_t page = page_size();
  const std::string path = folder.write("x", std::vector<std::byte>(8 * page, std::byte{7}));
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  read_ahead({});
  read_ahead(file->bytes().first(0));
  EXPECT_EQ(test::resident_bytes(path), 0U);
  read_ahead(file->bytes().subspan(page + 1, 6 * page));
  const std::size_t there = test::resident_bytes(path);
  if (there == 0) GTEST_SKIP() << "this system has no MADV_POPULATE_READ";
  EXPECT_GE(there, 7 * page);
}

TEST(MappedFile, MayBeEmpty) {
  const TempFolder folder;
  const auto file = MappedFile::open(folder.write("x", {}));
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_TRUE(file->bytes().empty());
}

TEST(MappedFile, MissingFileIsNotFound) {
  const TempFolder folder;
  expect_error(folder.file("none"), ErrorCode::kNotFound, "No such file or directory");
  folder.write("x", {});
  expect_error(folder.file("x/none"), ErrorCode::kNotFound, "Not a directory");
}

TEST(MappedFile, DirectoryOrDeviceIsAnError) {
  const TempFolder folder;
  expect_error(folder.path(), ErrorCode::kIo, "directory");
  expect_error("/dev/null", ErrorCode::kIo, "not a regular file");
}

TEST(MappedFile, PipeIsAnErrorWithoutBlocking) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  expect_error(folder.file("pipe"), ErrorCode::kIo, "not a regular file");
}

TEST(MappedFile, SymlinkLoopIsAnError) {
  const TempFolder folder;
  ASSERT_EQ(::symlink("loop", folder.file("loop").c_str()), 0);
  expect_error(folder.file("loop"), ErrorCode::kIo, "symbolic links");
}

TEST(MappedFile, FileWithoutReadPermissionIsAnError) {
  const TempFolder folder;
  const std::string path = folder.write("x", Bytes().text("abc").span());
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  const test::WithoutPrivileges nobody(std::filesystem::path(path).parent_path());
  expect_error(path, ErrorCode::kIo, "Permission denied");
}

}  // namespace
}  // namespace shunt::base_file_test
