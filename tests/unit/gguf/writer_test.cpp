// Written files can be read, and files that can't be written leave nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>

#include "shunt/gguf.h"
#include "support/gguf_bytes.h"

namespace shunt::gguf::gguf_writer_test {
namespace {

using test::Bytes;
using test::TempFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::byte> numbered(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return bytes;
}

Result<std::span<const std::byte>> no_data(std::size_t) {
  return std::span<const std::byte>();
}

std::vector<std::byte> content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::byte> bytes(chars.size());
  if (!chars.empty()) std::memcpy(bytes.data(), chars.data(), chars.size());
  return bytes;
}

void expect_refused(const Writer& writer, const std::vector<std::string>& parts,
                    std::uint32_t alignment = 32) {
  const TempFolder folder;
  const Status status = writer.write(folder.file("out.gguf"), no_data, alignment);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument) << status.error().message();
  for (const std::string& part : parts) EXPECT_THAT(status.error().message(), HasSubstr(part));
  EXPECT_THAT(folder.list(), IsEmpty());
}

TEST(GgufWriter, WritesTheExactBytesOfTheFormat) {
  const TempFolder folder;
  Writer writer;
  writer.add_string("general.name", "x");
  writer.add_u32("k", 7);
  ASSERT_TRUE(writer.add_tensor("a", *make_tensor(DType::kI8, {3, 1, 2})));
  ASSERT_TRUE(writer.add_tensor("b", *make_tensor(DType::kF32, {1})));
  const std::vector<std::byte> data = numbered(6);
  ASSERT_TRUE(writer.write(folder.file("out.gguf"),
                           [&](std::size_t index) -> Result<std::span<const std::byte>> {
                             return std::span(data).first(index == 0 ? 6 : 4);
                           }));
  const Bytes expected = test::gguf_file(
      {.entries = {test::gguf_entry("general.name", test::kGgufString, Bytes().string("x")),
                   test::gguf_entry("k", test::kGgufU32, Bytes().u32(7))},
       .tensors = {test::gguf_tensor("a", {3, 1, 2}, 24, 0), test::gguf_tensor("b", {1}, 0, 32)},
       .data = Bytes()
                   .u8(1)
                   .u8(8)
                   .u8(15)
                   .u8(22)
                   .u8(29)
                   .u8(36)
                   .zeros(26)
                   .u8(1)
                   .u8(8)
                   .u8(15)
                   .u8(22)
                   .zeros(28)});
  EXPECT_THAT(content(folder.file("out.gguf")), testing::ElementsAreArray(expected.span()));
  EXPECT_THAT(folder.list(), ElementsAre("out.gguf"));
}

TEST(GgufWriter, RoundTripsMetadataOfEveryType) {
  const TempFolder folder;
  Writer writer;
  writer.add("u8", {ValueType::kU8, std::uint64_t{255}});
  writer.add("i8", {ValueType::kI8, std::int64_t{-128}});
  writer.add("u16", {ValueType::kU16, std::uint64_t{65535}});
  writer.add("i16", {ValueType::kI16, std::int64_t{-32768}});
  writer.add("i32", {ValueType::kI32, std::int64_t{-2147483648}});
  writer.add("u64", {ValueType::kU64, ~std::uint64_t{0}});
  writer.add("i64", {ValueType::kI64, std::numeric_limits<std::int64_t>::min()});
  writer.add("f64", {ValueType::kF64, 0.1});
  writer.add_u32("u32", 0xffffffff);
  writer.add_f32("f32", 0.1f);
  writer.add_bool("bool", true);
  writer.add_string("string", std::string("a\0b", 3));
  writer.add_array(
      "strings", {.type = ValueType::kString, .strings = {"", "x"}, .floats = {}, .integers = {}});
  writer.add_array(
      "f32s", {.type = ValueType::kF32, .strings = {}, .floats = {1.5, INFINITY}, .integers = {}});
  writer.add_array(
      "i16s", {.type = ValueType::kI16, .strings = {}, .floats = {}, .integers = {-32768, 32767}});
  writer.add_array("bools",
                   {.type = ValueType::kBool, .strings = {}, .floats = {}, .integers = {1, 0}});
  writer.add_array("empty", {.type = ValueType::kU64, .strings = {}, .floats = {}, .integers = {}});
  const Status written = writer.write(folder.file("out.gguf"), no_data);
  ASSERT_TRUE(written) << written.error().message();

  const auto file = File::open(folder.file("out.gguf"));
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->metadata().size(), 17u);
  EXPECT_EQ(*file->get_integer("u8"), 255);
  EXPECT_EQ(*file->get_integer("i8"), -128);
  EXPECT_EQ(*file->get_integer("u16"), 65535);
  EXPECT_EQ(*file->get_integer("i16"), -32768);
  EXPECT_EQ(*file->get_integer("i32"), -2147483648);
  EXPECT_EQ(std::get<std::uint64_t>(file->find("u64")->data), ~std::uint64_t{0});
  EXPECT_EQ(*file->get_integer("i64"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(*file->get_number("f64"), 0.1);
  EXPECT_EQ(*file->get_integer("u32"), 0xffffffff);
  EXPECT_EQ(*file->get_number("f32"), double{0.1f});
  EXPECT_TRUE(*file->get_bool("bool"));
  EXPECT_EQ(*file->get_string("string"), std::string("a\0b", 3));
  EXPECT_THAT((*file->get_array("strings", ValueType::kString))->strings, ElementsAre("", "x"));
  EXPECT_THAT((*file->get_array("f32s", ValueType::kF32))->floats, ElementsAre(1.5, INFINITY));
  EXPECT_THAT((*file->get_array("i16s", ValueType::kI16))->integers, ElementsAre(-32768, 32767));
  EXPECT_THAT((*file->get_array("bools", ValueType::kBool))->integers, ElementsAre(1, 0));
  EXPECT_EQ((*file->get_array("empty", ValueType::kU64))->size(), 0u);
}

TEST(GgufWriter, RoundTripsTensorsOfEveryType) {
  for (const std::uint32_t alignment : {8u, 32u, 4096u}) {
    const TempFolder folder;
    Writer writer;
    std::vector<std::vector<std::byte>> data;
    for (const DTypeTrait& type : dtypes()) {
      const Tensor tensor = *make_tensor(type.dtype, {type.block_elements, 3});
      ASSERT_TRUE(writer.add_tensor(std::string(type.name), tensor));
      data.push_back(numbered(static_cast<std::size_t>(byte_span(tensor))));
    }
    const Status written = writer.write(
        folder.file("out.gguf"),
        [&](std::size_t index) -> Result<std::span<const std::byte>> { return data[index]; },
        alignment);
    ASSERT_TRUE(written) << written.error().message();

    const auto file = File::open(folder.file("out.gguf"));
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->alignment(), alignment);
    ASSERT_EQ(file->tensors().size(), data.size());
    for (std::size_t i = 0; i < data.size(); ++i) {
      const TensorInfo& info = file->tensors()[i];
      EXPECT_EQ(info.name, to_string(info.tensor.dtype));
      EXPECT_EQ(info.tensor.size(1), 3);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file->data(info).data()) % alignment, 0u);
      EXPECT_THAT(file->data(info), testing::ElementsAreArray(data[i])) << info.name;
    }
  }
}

TEST(GgufWriter, ReplacesAFileAtomically) {
  const TempFolder folder;
  folder.write("out.gguf", Bytes().text("old").span());
  Writer writer;
  writer.add_u32("k", 7);
  ASSERT_TRUE(writer.write(folder.file("out.gguf"), no_data));
  EXPECT_EQ(*File::open(folder.file("out.gguf"))->get_integer("k"), 7);
  EXPECT_THAT(folder.list(), ElementsAre("out.gguf"));
}

TEST(GgufWriter, HeedsTheUmask) {
  const TempFolder folder;
  const mode_t before = ::umask(027);
  ASSERT_TRUE(Writer().write(folder.file("out.gguf"), no_data));
  ::umask(before);
  struct stat status = {};
  ASSERT_EQ(::stat(folder.file("out.gguf").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0640u);
}

TEST(GgufWriter, FailedDataKeepTheOldFileAndNoTemporaryFile) {
  const TempFolder folder;
  folder.write("out.gguf", Bytes().text("old").span());
  Writer writer;
  ASSERT_TRUE(writer.add_tensor("a", *make_tensor(DType::kF32, {8})));
  ASSERT_TRUE(writer.add_tensor("b", *make_tensor(DType::kF32, {8})));
  const std::vector<std::byte> data = numbered(32);

  struct Attempt {
    Writer::Data data;
    ErrorCode code;
    const char* part;
  };
  const Attempt attempts[] = {
      {[&](std::size_t index) -> Result<std::span<const std::byte>> {
         if (index == 0) return data;
         return Error(ErrorCode::kCancelled, "enough");
       },
       ErrorCode::kCancelled, "tensor 'b': enough"},
      {[&](std::size_t index) -> Result<std::span<const std::byte>> {
         return std::span(data).first(index == 0 ? 32 : 31);
       },
       ErrorCode::kInvalidArgument, "tensor 'b': 31 bytes were given for F32 [8], which takes 32"},
      {[&](std::size_t index) -> Result<std::span<const std::byte>> {
         if (index == 0) return data;
         throw std::bad_alloc();
       },
       ErrorCode::kOutOfMemory, "out.gguf"},
  };
  for (const Attempt& attempt : attempts) {
    const Status status = writer.write(folder.file("out.gguf"), attempt.data);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), attempt.code);
    EXPECT_THAT(status.error().message(), HasSubstr(attempt.part));
    EXPECT_THAT(folder.list(), ElementsAre("out.gguf"));
    EXPECT_EQ(content(folder.file("out.gguf")).size(), 3u);
  }
}

TEST(GgufWriter, AcceptsTensorsInPieces) {
  const TempFolder folder;
  Writer writer;
  ASSERT_TRUE(writer.add_tensor("a", *make_tensor(DType::kI8, {40})));
  ASSERT_TRUE(writer.add_tensor("b", *make_tensor(DType::kI8, {3})));
  const std::vector<std::byte> data = {std::byte{1}, std::byte{2}, std::byte{3}};
  const auto bytes = std::span(data);
  const auto give = [&](std::size_t first, std::size_t second) {
    return [&, first, second](std::size_t index, const Writer::Sink& sink) -> Status {
      for (std::size_t left = index == 0 ? first : second; left > 0;) {
        const std::size_t now = std::min(left, bytes.size());
        SHUNT_TRY(sink(bytes.first(now)));
        left -= now;
      }
      return ok();
    };
  };
  const std::string path = folder.file("out.gguf");
  ASSERT_TRUE(writer.write_pieces(path, give(40, 3)));
  const auto file = File::open(path);
  ASSERT_TRUE(file) << file.error().message();
  const auto a = file->data(file->tensors()[0]);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(a[i], data[i % 3]) << i;
  EXPECT_TRUE(std::ranges::equal(file->data(file->tensors()[1]), data));
  // Too few and too many.
  for (const auto& [first, second] : {std::pair(39, 3), std::pair(40, 2), std::pair(40, 4)}) {
    const Status status = writer.write_pieces(
        folder.file("bad.gguf"),
        give(static_cast<std::size_t>(first), static_cast<std::size_t>(second)));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message(), HasSubstr("bytes were given for I8"));
  }
  EXPECT_THAT(folder.list(), ElementsAre("out.gguf"));
}

TEST(GgufWriter, UnwritablePathIsReported) {
  const TempFolder folder;
  const Status missing = Writer().write(folder.file("none/out.gguf"), no_data);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message(), HasSubstr(folder.file("none/out.gguf")));
  const Status directory = Writer().write(folder.path(), no_data);
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code(), ErrorCode::kIo);
  EXPECT_THAT(directory.error().message(), HasSubstr("directory"));
  EXPECT_THAT(folder.list(), IsEmpty());
}

TEST(GgufWriter, FullDiskLeavesNoFile) {
  // A limit on the size of files fails in the same place, write(), as a full disk.
  const TempFolder folder;
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit limit = {4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  Writer writer;
  writer.add_string("k", std::string(10000, 'x'));
  const Status status = writer.write(folder.file("out.gguf"), no_data);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kIo);
  EXPECT_THAT(status.error().message(), HasSubstr("File too large"));
  EXPECT_THAT(folder.list(), IsEmpty());
}

TEST(GgufWriter, RejectsInvalidMetadata) {
  Writer twice;
  twice.add_u32("k", 1);
  twice.add_bool("k", true);
  expect_refused(twice, {"metadata 'k'", "twice"});
  Writer nameless;
  nameless.add_u32("", 1);
  expect_refused(nameless, {"metadata ''"});
  Writer too_large;
  too_large.add("k", {ValueType::kU8, std::uint64_t{256}});
  expect_refused(too_large, {"metadata 'k'", "u8"});
  Writer too_small;
  too_small.add("k", {ValueType::kI16, std::int64_t{-32769}});
  expect_refused(too_small, {"metadata 'k'", "i16"});
  Writer other;
  other.add("k", {ValueType::kString, std::uint64_t{1}});
  expect_refused(other, {"metadata 'k'", "string"});
  Writer unknown;
  unknown.add("k", {static_cast<ValueType>(99), std::uint64_t{1}});
  expect_refused(unknown, {"metadata 'k'"});
  Writer null;
  null.add("k", {ValueType::kArray, std::shared_ptr<const Array>()});
  expect_refused(null, {"metadata 'k'", "array"});
  Writer nested;
  nested.add_array("k", {.type = ValueType::kArray, .strings = {}, .floats = {}, .integers = {}});
  expect_refused(nested, {"metadata 'k'", "array"});
  Writer element;
  element.add_array("k",
                    {.type = ValueType::kBool, .strings = {}, .floats = {}, .integers = {0, 2}});
  expect_refused(element, {"metadata 'k'", "2 is not a bool"});
  Writer negative;
  negative.add_array("k", {.type = ValueType::kU32, .strings = {}, .floats = {}, .integers = {-1}});
  expect_refused(negative, {"metadata 'k'", "-1 is not a u32"});
}

TEST(GgufWriter, RejectsInvalidAlignments) {
  for (const std::uint32_t alignment : {0u, 1u, 4u, 24u}) {
    expect_refused(Writer(), {std::to_string(alignment), "power of two"}, alignment);
  }
  Writer contradicting;
  contradicting.add_u32("general.alignment", 64);
  expect_refused(contradicting, {"general.alignment", "32"});
  const TempFolder folder;
  EXPECT_TRUE(contradicting.write(folder.file("out.gguf"), no_data, 64));
}

TEST(GgufWriter, RejectsInvalidTensors) {
  Writer writer;
  const Tensor whole = *make_tensor(DType::kF32, {8, 2});
  Tensor gaps = whole;
  gaps.strides[1] = 64;
  for (const Status& status : {writer.add_tensor("", whole), writer.add_tensor("a", gaps),
                               writer.add_tensor("a", *make_tensor(DType::kF32, {8, 0})),
                               writer.add_tensor("a", *make_tensor(DType::kF32, {8, Dim(1, 4)}))}) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
  }
  ASSERT_TRUE(writer.add_tensor("a", whole));
  ASSERT_TRUE(writer.add_tensor("a", whole));
  expect_refused(writer, {"tensor 'a'", "twice"});
  Writer huge;
  ASSERT_TRUE(huge.add_tensor("a", *make_tensor(DType::kI8, {std::int64_t{1} << 62})));
  ASSERT_TRUE(huge.add_tensor("b", *make_tensor(DType::kI8, {std::int64_t{1} << 62})));
  ASSERT_TRUE(huge.add_tensor("c", *make_tensor(DType::kI8, {1})));
  expect_refused(huge, {"63 bits"});
}

}  // namespace
}  // namespace shunt::gguf::gguf_writer_test
