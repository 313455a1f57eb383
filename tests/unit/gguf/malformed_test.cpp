// Wrong files: each must be refused with the place and the expected content, and nothing worse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <functional>

#include "shunt/gguf.h"
#include "support/gguf_bytes.h"

namespace shunt::gguf::gguf_malformed_test {
namespace {

using namespace test;  // NOLINT: every case is made of its names
using testing::HasSubstr;

constexpr std::uint64_t k2To40 = std::uint64_t{1} << 40;
constexpr std::uint64_t k2To63 = std::uint64_t{1} << 63;

struct Case {
  const char* name;
  Bytes bytes;
  ErrorCode code;
  std::vector<std::string> parts;  ///< of the message, in addition to the file's name
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

class Malformed : public testing::TestWithParam<Case> {};

TEST_P(Malformed, IsRejectedWithTheFacts) {
  const Case& c = GetParam();
  const auto file = File::parse(c.bytes.span(), "bad.gguf");
  ASSERT_FALSE(file);
  const std::string& message = file.error().message();
  EXPECT_EQ(file.error().code(), c.code) << message;
  EXPECT_THAT(message, HasSubstr("bad.gguf: "));
  for (const std::string& part : c.parts) EXPECT_THAT(message, HasSubstr(part));
}

constexpr ErrorCode kBad = ErrorCode::kBadFile;
constexpr ErrorCode kUnsupported = ErrorCode::kUnsupported;

std::string case_name(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

/// A file of one metadata entry, which begins at byte 24.
Bytes with_entry(const Bytes& entry) {
  return gguf_file({.entries = {entry}});
}

/// A file of one array, whose type is at byte 24 + 8 + 1 + 4 = 37 and whose elements begin at 49.
Bytes with_array(std::uint32_t type, std::uint64_t count, const Bytes& elements) {
  return with_entry(gguf_entry("k", kGgufArray, gguf_array(type, count, elements)));
}

/// A file of these tensors, the first of which begins at byte 24.
Bytes with_tensors(std::vector<Bytes> tensors, std::size_t data_bytes) {
  GgufParts parts;
  parts.tensors = std::move(tensors);
  parts.data.zeros(data_bytes);
  return gguf_file(parts);
}

INSTANTIATE_TEST_SUITE_P(
    Header, Malformed,
    testing::Values(
        Case{"Empty", Bytes(), kBad, {"byte 0", "empty"}},
        Case{"CutOffInMagic", Bytes().text("GGU"), kBad, {"byte 0", "cut off", "magic"}},
        Case{"WrongMagic", Bytes().text("GGML").zeros(60), kBad, {"byte 0", "'GGUF'", "'GGML'"}},
        Case{"BinaryMagic", Bytes().u32(0xff1b0001).zeros(60), kBad, {"'\\x01\\x00\\x1b\\xff'"}},
        Case{
            "CutOffInVersion", Bytes().text("GGUF").u16(3), kBad, {"byte 4", "cut off", "version"}},
        Case{"Version0", gguf_header(0, 0, 0), kUnsupported, {"byte 4", "version 0", "2 and 3"}},
        Case{"Version1", gguf_header(1, 0, 0), kUnsupported, {"byte 4", "version 1", "2 and 3"}},
        Case{"Version4", gguf_header(4, 0, 0), kUnsupported, {"byte 4", "version 4", "2 and 3"}},
        Case{"BigEndianVersion4",
             gguf_header(0x04000000, 0, 0),
             kUnsupported,
             {"byte 4", "version 4, big-endian", "2 and 3"}},
        Case{"BigEndianMagicOfALittleEndianFile",
             Bytes().text("FUGG").u32(3).zeros(16),
             kBad,
             {"byte 4", "big-endian", "'FUGG'", "found 3"}},
        Case{"BigEndianWithTensorsTo2To40",
             gguf_header(0x03000000, 0x10000, 0).zeros(64),  // 2^40, the other way around
             kBad,
             {"byte 8", "number of tensors", "1099511627776"}},
        Case{"CutOffInCounts", Bytes().text("GGUF").u32(3).u64(0), kBad, {"byte 16", "cut off"}},
        Case{"TensorsTo2To40",
             gguf_header(3, k2To40, 0).zeros(64),
             kBad,
             {"byte 8", "number of tensors", "1099511627776", "72 bytes"}},
        Case{"TensorsTo2To63",
             gguf_header(3, k2To63, 0).zeros(64),
             kBad,
             {"byte 8", "number of tensors"}},
        Case{"EntriesTo2To40",
             gguf_header(3, 0, k2To40).zeros(64),
             kBad,
             {"byte 16", "number of metadata entries", "64 bytes", "at most 4"}},
        Case{"EntriesTo2To63", gguf_header(3, 0, k2To63).zeros(64), kBad, {"byte 16"}}),
    case_name);

INSTANTIATE_TEST_SUITE_P(
    Metadata, Malformed,
    testing::Values(Case{"EntryMissing",
                         gguf_header(3, 0, 2).append(
                             gguf_entry("k", kGgufString, Bytes().string(std::string(30, 'x')))),
                         kBad,
                         {"metadata 2 of 2", "byte 75", "cut off", "a key"}},
                    Case{"KeyEmpty",
                         with_entry(gguf_entry("", kGgufU8, Bytes().u8(1).u8(0))),
                         kBad,
                         {"metadata 1 of 1", "byte 24", "expected a key"}},
                    Case{"KeyTo2To40",
                         gguf_header(3, 0, 1).u64(k2To40).zeros(64),
                         kBad,
                         {"metadata 1 of 1", "byte 24", "cut off", "1099511627776"}},
                    Case{"KeyTo2To63",
                         gguf_header(3, 0, 1).u64(k2To63).zeros(64),
                         kBad,
                         {"metadata 1 of 1", "byte 24"}},
                    Case{"KeyTooLong",
                         with_entry(gguf_entry(std::string(65536, 'k'), kGgufU8, Bytes().u8(1))),
                         kBad,
                         {"metadata 1 of 1 'kkk", "'...", "at most 65535", "65536"}},
                    Case{"KeyTwice",
                         gguf_file({.entries = {gguf_entry("a", kGgufU8, Bytes().u8(1)),
                                                gguf_entry("b", kGgufU8, Bytes().u8(1)),
                                                gguf_entry("a", kGgufI8, Bytes().u8(1))}}),
                         kBad,
                         {"metadata 3 of 3 'a'", "same key", "metadata 1"}},
                    Case{"KeyIsEscaped",
                         with_entry(gguf_entry("a\n\xff", 77, Bytes().u8(1))),
                         kBad,
                         {"'a\\x0a\\xff'"}},
                    Case{"TypeUnknown",
                         with_entry(gguf_entry("k", 13, Bytes().u8(1))),
                         kBad,
                         {"metadata 1 of 1 'k'", "byte 33", "type of a value", "found 13"}},
                    Case{"TypeHuge",
                         with_entry(gguf_entry("k", 0xffffffff, Bytes().u8(1))),
                         kBad,
                         {"found 4294967295"}},
                    Case{"TypeCutOff",
                         gguf_header(3, 0, 1).string("kkkk").u16(0),
                         kBad,
                         {"metadata 1 of 1 'kkkk'", "byte 36", "cut off"}},
                    Case{"ValueCutOff",
                         gguf_header(3, 0, 1).append(gguf_entry("k", kGgufU64, Bytes().u32(1))),
                         kBad,
                         {"metadata 1 of 1 'k'", "byte 37", "cut off", "8 bytes", "4 remain"}},
                    Case{"BoolOf2",
                         with_entry(gguf_entry("k", kGgufBool, Bytes().u8(2))),
                         kBad,
                         {"metadata 1 of 1 'k'", "byte 37", "0 or 1", "found 2"}},
                    Case{
                        "StringCutOff",
                        with_entry(gguf_entry("k", kGgufString, Bytes().u64(10).text("123456789"))),
                        kBad,
                        {"metadata 1 of 1 'k'", "byte 37", "cut off", "10 bytes", "9 remain"}},
                    Case{"StringTo2To40",
                         with_entry(gguf_entry("k", kGgufString, Bytes().u64(k2To40))),
                         kBad,
                         {"byte 37", "cut off"}},
                    Case{"StringTo2To63",
                         with_entry(gguf_entry("k", kGgufString, Bytes().u64(k2To63))),
                         kBad,
                         {"byte 37", "cut off"}},
                    Case{"StringToAllOnes",
                         with_entry(gguf_entry("k", kGgufString, Bytes().u64(~std::uint64_t{0}))),
                         kBad,
                         {"byte 37"}}),
    case_name);

INSTANTIATE_TEST_SUITE_P(
    Arrays, Malformed,
    testing::Values(Case{"Nested",
                         with_array(kGgufArray, 1, gguf_array(kGgufU8, 1, Bytes().u8(1))),
                         kUnsupported,
                         {"metadata 1 of 1 'k'", "byte 37", "arrays of arrays"}},
                    Case{"TypeUnknown",
                         with_array(13, 1, Bytes().u8(1)),
                         kBad,
                         {"byte 37", "array's elements", "found 13"}},
                    Case{"TypeCutOff",
                         gguf_header(3, 0, 1).append(gguf_entry("k", kGgufArray, Bytes().u16(0))),
                         kBad,
                         {"byte 37", "cut off"}},
                    Case{"CountCutOff",
                         gguf_header(3, 0, 1).append(gguf_entry("k", kGgufArray,
                                                                Bytes().u32(0).u32(0))),
                         kBad,
                         {"byte 41", "cut off"}},
                    Case{"NumbersCutOff",
                         with_array(kGgufU32, 3, Bytes().u32(1).u32(2)),
                         kBad,
                         {"byte 41", "number of elements is 3", "8 bytes", "at most 2"}},
                    Case{"NumbersTo2To40",
                         with_array(kGgufU8, k2To40, Bytes().zeros(9)),
                         kBad,
                         {"byte 41", "at most 9"}},
                    Case{"NumbersTo2To63",
                         with_array(kGgufU64, k2To63, Bytes().zeros(9)),
                         kBad,
                         {"byte 41", "at most 1"}},
                    Case{"NumbersOverflow",
                         with_array(kGgufU64, (std::uint64_t{1} << 61) + 1, Bytes().zeros(9)),
                         kBad,
                         {"byte 41"}},
                    Case{"StringsTo2To40",
                         with_array(kGgufString, k2To40, Bytes().string("a")),
                         kBad,
                         {"byte 41", "at most 1"}},
                    Case{"StringsTo2To63",
                         with_array(kGgufString, k2To63, Bytes().string("a")),
                         kBad,
                         {"byte 41"}},
                    Case{"StringInItCutOff",
                         with_array(kGgufString, 2, Bytes().string("abc").u64(4).text("abc")),
                         kBad,
                         {"element 2 of 2", "byte 60", "cut off", "4 bytes", "3 remain"}},
                    Case{"StringInItTo2To63",
                         with_array(kGgufString, 2, Bytes().string("abc").u64(k2To63)),
                         kBad,
                         {"element 2 of 2", "byte 60"}},
                    Case{"BoolOf2",
                         with_array(kGgufBool, 3, Bytes().u8(0).u8(1).u8(2)),
                         kBad,
                         {"metadata 1 of 1 'k'", "element 3 of 3", "byte 51", "found 2"}},
                    Case{"U64Over63Bits",
                         with_array(kGgufU64, 2, Bytes().u64(1).u64(k2To63)),
                         kUnsupported,
                         {"element 2 of 2", "byte 57", "9223372036854775808"}}),
    case_name);

INSTANTIATE_TEST_SUITE_P(
    Alignment, Malformed,
    testing::Values(Case{"OfAnotherType",
                         with_entry(gguf_entry("general.alignment", kGgufU64, Bytes().u64(32))),
                         kBad,
                         {"'general.alignment'", "expected a u32", "u64"}},
                    Case{"Zero",
                         with_entry(gguf_entry("general.alignment", kGgufU32, Bytes().u32(0))),
                         kBad,
                         {"power of two", "found 0"}},
                    Case{"Four",
                         with_entry(gguf_entry("general.alignment", kGgufU32, Bytes().u32(4))),
                         kBad,
                         {"at least 8", "found 4"}},
                    Case{"NoPowerOfTwo",
                         with_entry(gguf_entry("general.alignment", kGgufU32, Bytes().u32(24))),
                         kBad,
                         {"found 24"}},
                    Case{"Huge",
                         gguf_file({.entries = {gguf_entry("general.alignment", kGgufU32,
                                                           Bytes().u32(0x80000000))},
                                    .tensors = {gguf_tensor("a", {8}, 0, 0)},
                                    .data = Bytes().zeros(32)}),
                         kBad,
                         {"tensor 1 of 1 'a'", "past", "0 bytes from byte 2147483648"}}),
    case_name);

INSTANTIATE_TEST_SUITE_P(
    Tensors, Malformed,
    testing::Values(
        Case{"OneMissing",
             gguf_header(3, 2, 0).append(gguf_tensor(std::string(40, 'a'), {8}, 0, 0)),
             kBad,
             {"tensor 2 of 2", "byte 96", "cut off"}},
        Case{"NameEmpty",
             with_tensors({gguf_tensor("", {8}, 0, 0)}, 32),
             kBad,
             {"tensor 1 of 1", "byte 24", "expected a name"}},
        Case{"NameTo2To63",
             gguf_header(3, 1, 0).u64(k2To63).zeros(64),
             kBad,
             {"tensor 1 of 1", "byte 24", "cut off"}},
        Case{"NameTooLong",
             with_tensors({gguf_tensor(std::string((1 << 20) + 1, 'n'), {8}, 0, 0)}, 32),
             kBad,
             {"tensor 1 of 1 'nnn", "1048576", "1048577"}},
        Case{"NameTwice",
             with_tensors({gguf_tensor("a", {8}, 0, 0), gguf_tensor("a", {8}, 0, 32)}, 64),
             kBad,
             {"tensor 2 of 2 'a'", "same name", "tensor 1"}},
        Case{"NameIsEscaped",
             with_tensors({gguf_tensor("\x1b[2J", {}, 0, 0)}, 32),
             kBad,
             {"'\\x1b[2J'"}},
        Case{"NoDimensions",
             with_tensors({gguf_tensor("a", {}, 0, 0)}, 32),
             kBad,
             {"tensor 1 of 1 'a'", "byte 33", "1 to 4 dimensions", "found 0"}},
        Case{"FiveDimensions",
             with_tensors({gguf_tensor("a", {1, 1, 1, 1, 1}, 0, 0)}, 32),
             kUnsupported,
             {"tensor 1 of 1 'a'", "byte 33", "1 to 4 dimensions", "found 5"}},
        Case{"BillionsOfDimensions",
             gguf_header(3, 1, 0).string("a").u32(0xffffffff).zeros(64),
             kUnsupported,
             {"4294967295"}},
        Case{"DimensionOf0",
             with_tensors({gguf_tensor("a", {8, 0}, 0, 0)}, 32),
             kBad,
             {"tensor 1 of 1 'a'", "byte 45", "dimension 1", "found 0"}},
        Case{"DimensionOf2To63",
             with_tensors({gguf_tensor("a", {k2To63}, 24, 0)}, 32),
             kBad,
             {"byte 37", "dimension 0", "9223372036854775808"}},
        Case{"DimensionsOverflow",
             with_tensors({gguf_tensor("a", {k2To40, k2To40}, 24, 0)}, 32),
             kBad,
             {"tensor 1 of 1 'a'", "I8 [1099511627776, 1099511627776]", "63 bits"}},
        Case{"DimensionsWrapTo0",
             with_tensors(
                 {gguf_tensor("a", {std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 24, 0)}, 32),
             kBad,
             {"63 bits"}},
        Case{"BytesOverflow",
             with_tensors({gguf_tensor("a", {std::uint64_t{1} << 61}, 0, 0)}, 32),
             kBad,
             {"63 bits"}},
        Case{"RowsNotWholeBlocks",
             with_tensors({gguf_tensor("a", {48, 2}, 2, 0)}, 96),
             kBad,
             {"tensor 1 of 1 'a'", "Q4_0 [48, 2]", "multiple of 32"}},
        Case{"TypeUnknown",
             with_tensors({gguf_tensor("a", {8}, 4711, 0)}, 32),
             kBad,
             {"tensor 1 of 1 'a'", "byte 45", "number 4711"}},
        Case{"Misaligned",
             with_tensors({gguf_tensor("a", {8}, 0, 16)}, 64),
             kBad,
             {"tensor 1 of 1 'a'", "byte 24", "multiple of 32", "found 16"}},
        Case{"OffsetPastTheEnd",
             with_tensors({gguf_tensor("a", {8}, 0, 64)}, 32),
             kBad,
             {"tensor 1 of 1 'a'", "offset 64", "past"}},
        Case{"OffsetOf2To40", with_tensors({gguf_tensor("a", {8}, 0, k2To40)}, 32), kBad, {"past"}},
        Case{"OffsetOverflows",
             with_tensors({gguf_tensor("a", {8}, 0, ~std::uint64_t{31})}, 32),
             kBad,
             {"tensor 1 of 1 'a'", "offset 18446744073709551584", "past"}},
        Case{"DataPastTheEnd",
             with_tensors({gguf_tensor("a", {9}, 0, 0)}, 32),
             kBad,
             {"tensor 1 of 1 'a'", "36 bytes", "past", "32 bytes from byte 64"}},
        Case{"DataHuge",
             with_tensors({gguf_tensor("a", {k2To40}, 0, 0)}, 32),
             kBad,
             {"4398046511104 bytes", "past"}},
        Case{"NoData",
             gguf_header(3, 1, 0).append(gguf_tensor("a", {8}, 0, 0)),
             kBad,
             {"0 bytes from byte 64"}},
        Case{"Overlapping",
             with_tensors({gguf_tensor("a", {16}, 0, 32), gguf_tensor("b", {9}, 0, 0)}, 96),
             kBad,
             {"tensor 1 of 2 'a'", "byte 24", "overlap", "36 bytes at offset 0",
              "tensor 2 of 2 'b'"}},
        Case{"SamePlace",
             with_tensors({gguf_tensor("a", {8}, 0, 0), gguf_tensor("b", {8}, 0, 0)}, 32),
             kBad,
             {"tensor 2 of 2 'b'", "overlap", "tensor 1 of 2 'a'"}}),
    case_name);

INSTANTIATE_TEST_SUITE_P(
    Splits, Malformed,
    testing::Values(Case{"InMemory",
                         gguf_file({.entries = {gguf_entry("split.count", kGgufU16, Bytes().u16(3)),
                                                gguf_entry("split.no", kGgufU16, Bytes().u16(0))}}),
                         kUnsupported,
                         {"part 1 of 3", "by path"}},
                    Case{"CountIsAString",
                         with_entry(gguf_entry("split.count", kGgufString, Bytes().string("3"))),
                         kBad,
                         {"'split.count'", "expected an integer", "string"}},
                    Case{"CountIsNegative",
                         with_entry(gguf_entry("split.count", kGgufI32, Bytes().u32(0xffffffff))),
                         kBad,
                         {"'split.count'", "found -1"}},
                    Case{"CountIsHuge",
                         with_entry(gguf_entry("split.count", kGgufU64, Bytes().u64(k2To63))),
                         kBad,
                         {"0 to 99999", "9223372036854775808"}},
                    Case{"NumberMissing",
                         with_entry(gguf_entry("split.count", kGgufU16, Bytes().u16(3))),
                         kBad,
                         {"split.no"}},
                    Case{"NumberTooHigh",
                         gguf_file({.entries = {gguf_entry("split.count", kGgufU16, Bytes().u16(3)),
                                                gguf_entry("split.no", kGgufU16, Bytes().u16(3))}}),
                         kBad,
                         {"'split.no'", "0 to 2", "found 3"}}),
    case_name);

TEST(Truncated, AnywhereIsAnError) {
  const Bytes whole = gguf_sample();
  ASSERT_TRUE(File::parse(whole.span(), "whole.gguf"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // In memory of its own, so that reading past its end does not go unnoticed.
    const std::vector<std::byte> part(whole.span().begin(),
                                      whole.span().begin() + static_cast<std::ptrdiff_t>(size));
    for (const bool metadata_only : {false, true}) {
      const auto file = File::parse(part, "cut.gguf", {.metadata_only = metadata_only});
      ASSERT_FALSE(file) << size;
      EXPECT_EQ(file.error().code(), ErrorCode::kBadFile) << size;
      EXPECT_THAT(file.error().message(), HasSubstr("cut.gguf: "));
    }
  }
}

TEST(Corrupted, AnywhereDoesNoHarm) {
  const Bytes whole = gguf_sample();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<std::byte> changed(whole.span().begin(), whole.span().end());
      changed[at] = static_cast<std::byte>(value);
      const auto file = File::parse(changed, "changed.gguf");
      if (!file) continue;
      for (const TensorInfo& info : file->tensors()) EXPECT_EQ(file->data(info).size(), info.bytes);
    }
  }
}

TEST(HeaderLimit, RejectsMetadataAbove256MiB) {
  // A file with holes, so that it is large without taking any room: an array of 300 MiB of bytes.
  const TempFolder folder;
  const std::uint64_t count = std::uint64_t{300} << 20;
  const Bytes start = with_array(kGgufU8, count, Bytes());
  const std::string path = folder.write("large.gguf", start.span());
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(start.size() + count)), 0);
  const auto file = File::open(path);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(file.error().message(), HasSubstr("metadata 1 of 1 'k': byte 41"));
  EXPECT_THAT(file.error().message(), HasSubstr("256 MiB"));
}

}  // namespace
}  // namespace shunt::gguf::gguf_malformed_test
