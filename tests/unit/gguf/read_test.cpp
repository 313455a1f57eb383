// Right files: the data that is read from them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>

#include "shunt/gguf.h"
#include "support/gguf_bytes.h"

namespace shunt::gguf::gguf_read_test {
namespace {

using test::Bytes;
using test::gguf_entry;
using test::gguf_file;
using test::gguf_sample;
using test::gguf_tensor;
using test::GgufParts;
using test::kGgufU32;
using test::TempFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The bytes must outlive the file.
File parse(const Bytes& bytes, const ReadOptions& options = {}) {
  auto file = File::parse(bytes.span(), "test.gguf", options);
  if (!file) throw std::runtime_error(file.error().message());
  return *std::move(file);
}

template <class T>
void expect_error(const Result<T>& result, ErrorCode code,
                  std::initializer_list<const char*> parts) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), code) << result.error().message();
  for (const char* part : parts) EXPECT_THAT(result.error().message(), HasSubstr(part));
}

TEST(GgufFile, MayBeEmpty) {
  const Bytes bytes = gguf_file({});
  const File file = parse(bytes);
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.alignment(), 32u);
  EXPECT_THAT(file.metadata(), IsEmpty());
  EXPECT_THAT(file.tensors(), IsEmpty());
  EXPECT_EQ(file.part_count(), 1u);
  EXPECT_EQ(file.file_bytes(), 24u);
  EXPECT_EQ(file.path(), "test.gguf");
}

TEST(GgufFile, Version2IsReadLikeVersion3) {
  GgufParts parts;
  parts.version = 2;
  parts.entries = {gguf_entry("k", kGgufU32, Bytes().u32(5))};
  const Bytes bytes = gguf_file(parts);
  const File file = parse(bytes);
  EXPECT_EQ(file.version(), 2u);
  EXPECT_EQ(*file.get_integer("k"), 5);
}

TEST(GgufFile, HasNumbersOfEveryType) {
  const Bytes bytes = gguf_sample();
  const File file = parse(bytes);
  EXPECT_EQ(*file.get_integer("x.u8"), 200);
  EXPECT_EQ(*file.get_integer("x.i8"), -2);
  EXPECT_EQ(*file.get_integer("x.u16"), 60000);
  EXPECT_EQ(*file.get_integer("x.i16"), -3);
  EXPECT_EQ(*file.get_integer("x.u32"), 4000000000);
  EXPECT_EQ(*file.get_integer("x.i32"), -4);
  EXPECT_EQ(*file.get_integer("x.i64"), -5);
  EXPECT_EQ(std::get<std::uint64_t>(file.find("x.u64")->data), 0xffffffffffffffffu);
  EXPECT_EQ(*file.get_number("x.f32"), double{0.1f});
  EXPECT_EQ(*file.get_number("x.f64"), 0.1);
  EXPECT_EQ(*file.get_number("x.i8"), -2.0);
  EXPECT_EQ(*file.get_number("x.u64"), 0x1p64);
  EXPECT_EQ(*file.get_bool("x.bool"), true);
  EXPECT_EQ(*file.get_string("general.name"), "sample");
  EXPECT_EQ(file.find("x.i16")->type, ValueType::kI16);
  EXPECT_EQ(file.metadata()[1].key, "x.u8");
}

TEST(GgufFile, HasArrays) {
  const Bytes bytes = gguf_sample();
  const File file = parse(bytes);
  const auto strings = *file.get_array("x.strings", ValueType::kString);
  EXPECT_THAT(strings->strings, ElementsAre("a", "", "\xe2\x96\x81z"));
  EXPECT_EQ(strings->size(), 3u);
  EXPECT_THAT((*file.get_array("x.i32s", ValueType::kI32))->integers, ElementsAre(7, -1));
  EXPECT_THAT((*file.get_array("x.u64s", ValueType::kU64))->integers,
              ElementsAre(std::numeric_limits<std::int64_t>::max()));
  EXPECT_THAT((*file.get_array("x.f32s", ValueType::kF32))->floats, ElementsAre(1.5, -2.0));
  EXPECT_THAT((*file.get_array("x.bools", ValueType::kBool))->integers, ElementsAre(1, 0));
  EXPECT_EQ((*file.get_array("x.empty", ValueType::kU8))->size(), 0u);
}

TEST(GgufFile, ArraysAcceptIntegersOfAnyWidth) {
  const Bytes bytes = gguf_sample();
  const File file = parse(bytes);
  EXPECT_TRUE(file.get_array("x.i32s", ValueType::kU16));
  EXPECT_TRUE(file.get_array("x.f32s", ValueType::kF64));
  expect_error(file.get_array("x.bools", ValueType::kI32), ErrorCode::kBadFile,
               {"test.gguf", "'x.bools'", "expected an array of i32", "found an array of bool"});
  expect_error(file.get_array("x.f32s", ValueType::kI32), ErrorCode::kBadFile, {"array of f32"});
}

TEST(GgufFile, MissingMetadataIsNotFound) {
  const Bytes bytes = gguf_sample();
  const File file = parse(bytes);
  EXPECT_EQ(file.find("nope"), nullptr);
  expect_error(file.get_string("nope"), ErrorCode::kNotFound, {"test.gguf", "'nope'", "a string"});
  expect_error(file.get_integer("nope"), ErrorCode::kNotFound, {"'nope'", "an integer"});
  expect_error(file.get_number("nope"), ErrorCode::kNotFound, {"'nope'", "a number"});
  expect_error(file.get_bool("nope"), ErrorCode::kNotFound, {"'nope'", "a bool"});
  expect_error(file.get_array("nope", ValueType::kString), ErrorCode::kNotFound,
               {"an array of string"});
}

TEST(GgufFile, MetadataOfAnotherTypeIsABadFile) {
  const Bytes bytes = gguf_sample();
  const File file = parse(bytes);
  expect_error(file.get_string("x.u8"), ErrorCode::kBadFile,
               {"test.gguf", "'x.u8'", "a string", "a u8"});
  expect_error(file.get_integer("x.f32"), ErrorCode::kBadFile, {"an integer", "a f32"});
  expect_error(file.get_integer("x.bool"), ErrorCode::kBadFile, {"an integer", "a bool"});
  expect_error(file.get_integer("x.u64"), ErrorCode::kBadFile,
               {"below 2^63", "18446744073709551615"});
  expect_error(file.get_number("general.name"), ErrorCode::kBadFile, {"a number", "a string"});
  expect_error(file.get_bool("x.u8"), ErrorCode::kBadFile, {"a bool", "a u8"});
  expect_error(file.get_array("x.u8", ValueType::kU8), ErrorCode::kBadFile,
               {"an array of u8", "a u8"});
}

TEST(GgufFile, DefaultAppliesOnlyToMissingKeys) {
  const Bytes bytes = gguf_sample();
  const File file = parse(bytes);
  EXPECT_EQ(*file.get_string_or("nope", "x"), "x");
  EXPECT_EQ(*file.get_string_or("general.name", "x"), "sample");
  EXPECT_EQ(*file.get_integer_or("nope", 3), 3);
  EXPECT_EQ(*file.get_number_or("nope", 0.5), 0.5);
  EXPECT_EQ(*file.get_number_or("x.f64", 0.5), 0.1);
  EXPECT_EQ(*file.get_bool_or("nope", true), true);
  expect_error(file.get_integer_or("general.name", 3), ErrorCode::kBadFile, {"an integer"});
  expect_error(file.get_bool_or("x.u8", false), ErrorCode::kBadFile, {"a bool"});
}

TEST(GgufFile, TensorDataIsNotCopied) {
  const Bytes bytes = gguf_sample();
  const File file = parse(bytes);
  ASSERT_EQ(file.tensors().size(), 2u);
  const TensorInfo& a = file.tensors()[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(to_string(a.tensor), "F32 [4, 2]");
  EXPECT_EQ(a.bytes, 32u);
  const TensorInfo* b = file.find_tensor("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(to_string(b->tensor), "Q8_0 [32]");
  EXPECT_EQ(b->offset, 32u);
  EXPECT_EQ(b->bytes, 34u);
  EXPECT_EQ(file.find_tensor("c"), nullptr);

  const auto data = file.data(*b);
  ASSERT_EQ(data.size(), 34u);
  EXPECT_EQ(data[2 + 31], std::byte{31});
  // In place: the file's last bytes are b's.
  EXPECT_EQ(data.data() + data.size(), bytes.span().data() + bytes.size());
  EXPECT_EQ(file.part_bytes(0).data(), bytes.span().data());
}

TEST(GgufFile, TensorsOfAnotherFileHaveNoData) {
  const Bytes bytes = gguf_sample();
  const File file = parse(bytes);
  TensorInfo strange = file.tensors()[0];
  strange.offset = 1 << 20;
  EXPECT_THAT(file.data(strange), IsEmpty());
  strange = file.tensors()[0];
  strange.part = 1;
  EXPECT_THAT(file.data(strange), IsEmpty());
  EXPECT_THAT(file.part_bytes(1), IsEmpty());
  EXPECT_EQ(file.mapping(1), nullptr);
}

TEST(GgufFile, AlignmentDeterminesTheDataOffset) {
  for (const std::uint32_t alignment : {8u, 64u, 4096u}) {
    GgufParts parts;
    parts.alignment = alignment;
    parts.entries = {gguf_entry("general.alignment", kGgufU32, Bytes().u32(alignment))};
    parts.tensors = {gguf_tensor("a", {1}, 24, 0), gguf_tensor("b", {1}, 24, alignment)};
    parts.data.u8(11).pad(alignment).u8(22);
    const Bytes bytes = gguf_file(parts);
    const File file = parse(bytes);
    EXPECT_EQ(file.alignment(), alignment);
    EXPECT_THAT(file.data(*file.find_tensor("a")), ElementsAre(std::byte{11}));
    EXPECT_THAT(file.data(*file.find_tensor("b")), ElementsAre(std::byte{22}));
  }
}

TEST(GgufFile, TensorsMayLieInAnyOrderWithGaps) {
  GgufParts parts;
  parts.tensors = {gguf_tensor("late", {8}, 0, 128), gguf_tensor("early", {8}, 0, 32)};
  parts.data.zeros(160);
  const Bytes bytes = gguf_file(parts);
  EXPECT_EQ(parse(bytes).tensors()[0].name, "late");
}

TEST(GgufFile, NamesOver64BytesAreFine) {
  GgufParts parts;
  const std::string name(5000, 'n');
  parts.tensors = {gguf_tensor(name, {8}, 0, 0)};
  parts.data.zeros(32);
  const Bytes bytes = gguf_file(parts);
  EXPECT_NE(parse(bytes).find_tensor(name), nullptr);
}

TEST(GgufFile, MetadataOnlySkipsTensorsOfUnknownTypes) {
  GgufParts parts;
  parts.tensors = {gguf_tensor("withdrawn", {4}, 4, 0), gguf_tensor("made up", {4}, 1000, 32),
                   gguf_tensor("f32", {4}, 0, 64)};
  parts.data.zeros(80);
  const Bytes bytes = gguf_file(parts);
  const File file = parse(bytes, {.metadata_only = true});
  ASSERT_EQ(file.tensors().size(), 1u);
  EXPECT_EQ(file.tensors()[0].name, "f32");
  EXPECT_FALSE(File::parse(bytes.span(), "test.gguf"));
}

TEST(GgufFile, IsOpenedByPathAndMapped) {
  const TempFolder folder;
  const std::string path = folder.write("a.gguf", gguf_sample().span());
  std::shared_ptr<const void> mapping;
  std::span<const std::byte> data;
  {
    const auto file = File::open(path);
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->path(), path);
    EXPECT_EQ(file->file_bytes(), gguf_sample().size());
    data = file->data(*file->find_tensor("b"));
    mapping = file->mapping(0);
  }
  std::filesystem::remove(path);
  ASSERT_NE(mapping, nullptr);
  EXPECT_EQ(data[33], std::byte{31});  // the mapping outlives the File
}

/// Whether the system maps a whole file of that size: qemu-user takes memory for it first.
bool is_mappable(const std::string& path, std::size_t bytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* const start = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (start != MAP_FAILED) ::munmap(start, bytes);
  return start != MAP_FAILED;
}

TEST(GgufFile, OpensA64GiBFileWithoutReadingItsData) {
  // A file with a hole of 64 GiB, which no memory would take and reading through which would take
  // minutes.
  const TempFolder folder;
  const std::uint64_t count = std::uint64_t{64} << 30;
  GgufParts parts;
  parts.tensors = {gguf_tensor("a", {count}, 24, 0)};
  const Bytes start = gguf_file(parts);
  const std::string path = folder.write("large.gguf", start.span());
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(start.size() + count)), 0);
  if (!is_mappable(path, count)) GTEST_SKIP() << "an emulator maps no file of 64 GiB here";
  const auto file = File::open(path);
  ASSERT_TRUE(file) << file.error().message();
  const auto data = file->data(*file->find_tensor("a"));
  EXPECT_EQ(data.size(), count);
  EXPECT_EQ(data.back(), std::byte{0});
}

TEST(GgufFile, OpenReportsMissingEmptyAndNonRegularFiles) {
  const TempFolder folder;
  expect_error(File::open(folder.file("none.gguf")), ErrorCode::kNotFound,
               {"none.gguf", "No such file"});
  expect_error(File::open(folder.path()), ErrorCode::kIo, {"directory"});
  const std::string empty = folder.write("empty.gguf", {});
  expect_error(File::open(empty), ErrorCode::kBadFile, {"empty.gguf", "empty"});
}

}  // namespace
}  // namespace shunt::gguf::gguf_read_test
