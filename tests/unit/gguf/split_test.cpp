// Files in several parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "gguf/split.h"
#include "shunt/gguf.h"
#include "support/gguf_bytes.h"

namespace shunt::gguf::gguf_split_test {
namespace {

using namespace test;  // NOLINT: the parts are made of its names
using testing::ElementsAre;
using testing::HasSubstr;

struct PartContent {
  std::uint64_t number = 0;
  std::uint64_t count = 3;
  std::vector<std::string> tensors =
      {};  ///< each an I8 [1] whose byte is its name's first character
  std::optional<std::uint64_t> total = {};
  std::string name = {};
};

Bytes part(const PartContent& content) {
  GgufParts parts;
  parts.entries = {gguf_entry("split.no", kGgufU16, Bytes().u16(content.number)),
                   gguf_entry("split.count", kGgufU16, Bytes().u16(content.count))};
  if (content.total) {
    parts.entries.push_back(
        gguf_entry("split.tensors.count", kGgufI32, Bytes().u32(*content.total)));
  }
  if (!content.name.empty()) {
    parts.entries.push_back(gguf_entry("general.name", kGgufString, Bytes().string(content.name)));
  }
  for (const std::string& tensor : content.tensors) {
    parts.data.pad(32);
    parts.tensors.push_back(gguf_tensor(tensor, {1}, 24, parts.data.size()));
    parts.data.text(tensor.substr(0, 1));
  }
  return gguf_file(parts);
}

class GgufSplit : public testing::Test {
 protected:
  GgufSplit() {
    write(1, {.number = 0, .tensors = {"a", "b"}, .total = 4, .name = "first"});
    write(2, {.number = 1, .tensors = {"c"}, .total = 4, .name = "second"});
    write(3, {.number = 2, .tensors = {"d"}, .total = 4});
  }

  std::string path(int number) const {
    return folder_.file("m-0000" + std::to_string(number) + "-of-00003.gguf");
  }
  void write(int number, const PartContent& content) const {
    folder_.write("m-0000" + std::to_string(number) + "-of-00003.gguf", part(content).span());
  }
  void expect_error(const std::string& opened, ErrorCode code,
                    const std::vector<std::string>& parts) const {
    const auto file = File::open(opened);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code(), code) << file.error().message();
    for (const std::string& text : parts) EXPECT_THAT(file.error().message(), HasSubstr(text));
  }

  TempFolder folder_;
};

TEST_F(GgufSplit, APartOfAnotherFileIsRefused) {
  write(2, {.number = 1, .tensors = {"c"}, .total = 5});
  expect_error(path(1), ErrorCode::kBadFile,
               {path(2) + ": a part of a file with 5 tensors; " + path(1) + " is of one with 4"});
}

TEST_F(GgufSplit, OpensAllPartsAsOneFile) {
  const auto file = File::open(path(1));
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->part_count(), 3u);
  EXPECT_EQ(*file->get_string("general.name"), "first");
  std::string names;
  for (const TensorInfo& info : file->tensors()) {
    names += info.name;
    EXPECT_THAT(file->data(info), ElementsAre(static_cast<std::byte>(info.name[0])));
  }
  EXPECT_EQ(names, "abcd");
  EXPECT_EQ(file->find_tensor("d")->part, 2u);
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    bytes += file->part_bytes(i).size();
    EXPECT_NE(file->mapping(i), nullptr);
  }
  EXPECT_EQ(file->file_bytes(), bytes);
}

TEST_F(GgufSplit, OpeningALaterPartNamesTheFirst) {
  expect_error(path(2), ErrorCode::kInvalidArgument, {path(2), "part 2 of 3", path(1)});
  expect_error(path(3), ErrorCode::kInvalidArgument, {path(3), "part 3 of 3", path(1)});
}

TEST_F(GgufSplit, MissingPartIsNamed) {
  std::filesystem::remove(path(3));
  expect_error(path(1), ErrorCode::kNotFound, {path(1), "part 3 of 3", path(3)});
}

TEST_F(GgufSplit, DamagedPartIsNamed) {
  folder_.write("m-00002-of-00003.gguf", Bytes().text("GGUF").span());
  expect_error(path(1), ErrorCode::kBadFile, {"part 2 of 3", path(2), "byte 4"});
}

TEST_F(GgufSplit, RejectsAPartOfAnotherFile) {
  write(2, {.number = 2, .tensors = {"c"}});
  expect_error(path(1), ErrorCode::kBadFile,
               {path(2), "part 2 of 3", "part 3 of 3 by its metadata"});
  write(2, {.number = 1, .count = 4, .tensors = {"c"}});
  expect_error(path(1), ErrorCode::kBadFile, {path(2), "part 2 of 4 by its metadata"});
  folder_.write("m-00002-of-00003.gguf", gguf_sample().span());
  expect_error(path(1), ErrorCode::kBadFile, {path(2), "part 1 of 1 by its metadata"});
}

TEST_F(GgufSplit, RejectsAWrongTensorCount) {
  write(2, {.number = 1});
  expect_error(path(1), ErrorCode::kBadFile,
               {path(1), "'split.tensors.count'", "4 tensors", "have 3"});
}

TEST_F(GgufSplit, RejectsATensorInTwoParts) {
  write(3, {.number = 2, .tensors = {"b"}});
  expect_error(path(1), ErrorCode::kBadFile, {path(1), "tensor 'b'", "part 1", "part 3"});
}

TEST_F(GgufSplit, RejectsAFileNameWithoutThePartNumber) {
  std::filesystem::rename(path(1), folder_.file("renamed.gguf"));
  expect_error(folder_.file("renamed.gguf"), ErrorCode::kBadFile,
               {"renamed.gguf", "part 1 of 3", "'-00001-of-00003.gguf'"});
  std::filesystem::rename(folder_.file("renamed.gguf"), folder_.file("m-00001-of-00002.gguf"));
  expect_error(folder_.file("m-00001-of-00002.gguf"), ErrorCode::kBadFile,
               {"'-00001-of-00003.gguf'"});
}

TEST_F(GgufSplit, IgnoresSplitKeysOfMergedFiles) {
  const std::string merged =
      folder_.write("merged.gguf", part({.count = 0, .tensors = {"a"}, .total = 9}).span());
  EXPECT_TRUE(File::open(merged));
  const std::string single =
      folder_.write("single.gguf", part({.count = 1, .tensors = {"a"}}).span());
  EXPECT_TRUE(File::open(single));
}

TEST(PartName, IsParsedAndFormatted) {
  const auto name = parse_part_name("/models/x-7B-00002-of-00013.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->prefix, "/models/x-7B");
  EXPECT_EQ(name->number, 1u);
  EXPECT_EQ(name->count, 13u);
  EXPECT_EQ(part_path(name->prefix, 12, 13), "/models/x-7B-00013-of-00013.gguf");
}

TEST(PartName, RejectsOtherNames) {
  for (const char* path :
       {"", "x.gguf", "x-00002-of-00001.gguf", "x-00000-of-00001.gguf", "x-0001-of-00003.gguf",
        "x-0000a-of-00003.gguf", "x-00001-of-00003.GGUF", "x00001-of-00003.gguf",
        "00001-of-00003.gguf", "x-00001_of-00003.gguf"}) {
    EXPECT_FALSE(parse_part_name(path)) << path;
  }
}

}  // namespace
}  // namespace shunt::gguf::gguf_split_test
