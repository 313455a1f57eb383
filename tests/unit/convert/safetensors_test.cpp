#include "convert/safetensors.h"

#include <gtest/gtest.h>

#include "support/published_model.h"

namespace shunt::test::convert_safetensors_test {
namespace {

Result<SafetensorsFile> parse(const std::string& bytes) {
  return SafetensorsFile::parse(std::as_bytes(std::span(bytes)), "FILE");
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

TEST(Safetensors, TensorsAreInTheOrderOfTheirData) {
  const std::string header = R"({"__metadata__":{"format":"pt"},"b":)" +
                             entry("F16", "[2,1]", "[8,12]") + R"(,"a":)" +
                             entry("F32", "[2]", "[0,8]") + "}";
  const std::string bytes = safetensors_bytes(header, std::string(12, 'x'));
  const auto file = parse(bytes);
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_EQ(file->tensors().size(), 2U);
  EXPECT_EQ(file->tensors()[0].name, "a");
  EXPECT_EQ(to_string(file->tensors()[1]), "F16 [2, 1]");
  EXPECT_EQ(file->tensors()[1].elements(), 2);
  EXPECT_EQ(file->tensors()[1].bytes.size(), 4U);
}

TEST(Safetensors, ATensorMayBeEmptyOrASingleNumber) {
  const std::string header =
      R"({"a":)" + entry("F32", "[0,3]", "[0,0]") + R"(,"b":)" + entry("U8", "[]", "[0,1]") + "}";
  const std::string bytes = safetensors_bytes(header, "x");
  const auto file = parse(bytes);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->tensors().size(), 2U);
}

/// In quadratic time this takes many minutes.
TEST(Safetensors, ManyTensorsAreRead) {
  constexpr std::size_t kTensors = 300'000;
  std::string header = "{";
  for (std::size_t i = 0; i < kTensors; ++i) {
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":" + entry("U8", "[0]", "[0,0]");
  }
  const std::string bytes = safetensors_bytes(header + "}", "");
  const auto file = parse(bytes);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->tensors().size(), kTensors);
}

struct BadFile {
  std::string name;
  std::string header;
  std::size_t data;
  std::string message;
};

class BadSafetensors : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadSafetensors, AreRefusedWithTheirPlace) {
  const std::string bytes = safetensors_bytes(GetParam().header, std::string(GetParam().data, 'x'));
  const auto file = parse(bytes);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message(), GetParam().message);
}

const BadFile kBadFiles[] = {
    {"Array", "[]", 0, "FILE: the header is an array; an object is expected"},
    {"NoObject", R"({"a":1})", 0, "FILE: tensor 'a' has 1; an object is expected"},
    {"NoType", R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4,
     "FILE: tensor 'a' has no \"dtype\""},
    {"UnknownType", R"({"a":)" + entry("F31", "[1]", "[0,4]") + "}", 4,
     "FILE: tensor 'a' has elements of type 'F31', which Shunt does not know"},
    {"NegativeSize", R"({"a":)" + entry("F32", "[-1]", "[0,4]") + "}", 4,
     "FILE: tensor 'a' has -1 in \"shape\"; a whole number of at most 63 bits is expected"},
    {"FractionOfASize", R"({"a":)" + entry("F32", "[1.0]", "[0,4]") + "}", 4,
     "FILE: tensor 'a' has 1.0 in \"shape\"; a whole number of at most 63 bits is expected"},
    {"TooManySizes", R"({"a":)" + entry("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") + "}", 4,
     "FILE: tensor 'a' has \"shape\" an array; an array of at most 8 numbers is expected"},
    {"OverflowOfSizes", R"({"a":)" + entry("F32", "[4294967296,4294967296]", "[0,4]") + "}", 4,
     "FILE: tensor 'a' is F32 [4294967296, 4294967296]; its bytes have more than 63 bits"},
    {"OverlongOffsets", R"({"a":)" + entry("F32", "[2]", "[0,8]") + "}", 4,
     "FILE: tensor 'a' has data_offsets [0, 8]; two ascending ones of at most 4 are expected"},
    {"DescendingOffsets", R"({"a":)" + entry("F32", "[1]", "[4,0]") + "}", 4,
     "FILE: tensor 'a' has data_offsets [4, 0]; two ascending ones of at most 4 are expected"},
    {"OtherSize", R"({"a":)" + entry("F32", "[2]", "[0,4]") + "}", 4,
     "FILE: tensor 'a' has 4 bytes of data; F32 [2] takes 8"},
    {"Overlap",
     R"({"a":)" + entry("F32", "[1]", "[0,4]") + R"(,"b":)" + entry("F32", "[1]", "[2,6]") + "}", 6,
     "FILE: tensor 'b' starts at 2 of the data, within tensor 'a'"},
    {"Gap",
     R"({"a":)" + entry("F32", "[1]", "[0,4]") + R"(,"b":)" + entry("F32", "[1]", "[6,10]") + "}",
     10,
     "FILE: bytes 4 to 6 of the data belong to no tensor; tensor 'b' should start at the first"},
    {"MoreData", R"({"a":)" + entry("F32", "[1]", "[0,4]") + "}", 5,
     "FILE: the header describes 4 bytes of data; the file has 5"},
    {"DeepJson", R"({"a":)" + std::string(10'000, '[') + std::string(10'000, ']') + "}", 0,
     "FILE: header: byte 68: JSON is nested deeper than 64 levels"},
};

INSTANTIATE_TEST_SUITE_P(Files, BadSafetensors, ::testing::ValuesIn(kBadFiles),
                         [](const auto& each) { return each.param.name; });

TEST(Safetensors, AHeaderLongerThanTheFileIsRefused) {
  std::string bytes(16, '\0');
  bytes[5] = 1;  // 2^40
  const auto file = parse(bytes);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message(),
            "FILE: the header has 1099511627776 bytes by the file's first 8; at most 8 are "
            "expected");
}

TEST(Safetensors, AFileWithoutALengthIsRefused) {
  const auto file = parse("abc");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message(), "FILE: 3 bytes; a safetensors file has at least 8");
}

TEST(Safetensors, TextThatIsNoJsonIsRefused) {
  const auto file = parse(safetensors_bytes("{\"a\":", ""));
  ASSERT_FALSE(file);
  EXPECT_TRUE(file.error().message().starts_with("FILE: header: no valid JSON: "))
      << file.error().message();
}

}  // namespace
}  // namespace shunt::test::convert_safetensors_test
