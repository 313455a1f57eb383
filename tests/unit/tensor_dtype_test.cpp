// The table of element types, and their names and numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "shunt/tensor.h"
#include "tensor/byte_order.h"

namespace shunt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(DType, TableIsInOrderAndComplete) {
  std::vector<int> numbers;
  for (const DTypeTrait& row : dtypes()) {
    numbers.push_back(static_cast<int>(row.dtype));
    EXPECT_EQ(&trait(row.dtype), &row);
    EXPECT_NE(row.decode, nullptr);
    EXPECT_NE(row.encode, nullptr);
    EXPECT_EQ(row.quantized, row.block_elements > 1);
    EXPECT_EQ(*dtype_from_name(row.name), row.dtype);
    EXPECT_EQ(*dtype_from_gguf(static_cast<std::uint32_t>(row.dtype)), row.dtype);
  }
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 8, 24, 25, 26, 27, 30));
}

TEST(DType, SizesAreTheFormats) {
  struct Row {
    DType dtype;
    std::int64_t elements;
    std::size_t bytes;
  };
  for (const Row& row :
       {Row{DType::kF32, 1, 4}, Row{DType::kF16, 1, 2}, Row{DType::kBF16, 1, 2},
        Row{DType::kQ4_0, 32, 18}, Row{DType::kQ8_0, 32, 34}, Row{DType::kI8, 1, 1},
        Row{DType::kI16, 1, 2}, Row{DType::kI32, 1, 4}, Row{DType::kI64, 1, 8}}) {
    EXPECT_EQ(trait(row.dtype).block_elements, row.elements) << to_string(row.dtype);
    EXPECT_EQ(trait(row.dtype).block_bytes, row.bytes) << to_string(row.dtype);
  }
}

TEST(DType, PrecisionIsSaidOfAllButWholeNumbersAndKept) {
  for (const DTypeTrait& row : dtypes()) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(row.precision > 0 && row.exponent > 0, !row.integer);
    if (row.integer || row.encode == nullptr) continue;
    // A block of falling values: none is off by more than the type says, of itself or of the
    // largest.
    std::vector<float> values(256);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::ldexp(1.0F + static_cast<float>(i % 32) / 33.0F, -static_cast<int>(i % 7)) *
                  (i % 3 == 0 ? -1.0F : 1.0F);
    values[0] = -2;
    std::vector<std::byte> bytes(values.size() * 8);
    std::vector<float> back(values.size());
    row.encode(values.data(), bytes.data(), 256);
    row.decode(bytes.data(), back.data(), 256);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float of = row.quantized ? 2.0F : std::fabs(values[i]);
      EXPECT_LE(std::fabs(back[i] - values[i]), std::ldexp(of, -row.precision)) << i;
    }
  }
}

TEST(DType, WhatIsAtLeastAsPreciseIsAsFineAndReachesAsFar) {
  using enum DType;
  const std::vector<std::pair<DType, std::vector<DType>>> expected = {
      // from, and what it may become
      {kF32, {kF32}},
      {kF16, {kF32, kF16}},
      {kBF16, {kF32, kBF16}},  // F16 ends at 65504
      {kQ8_0, {kF32, kF16, kQ8_0, kBF16}},
      {kQ4_0, {kF32, kF16, kQ4_0, kQ8_0, kBF16}},
      {kI8, {}},
      {kI32, {}},
  };
  for (const auto& [from, allowed] : expected) {
    for (const DTypeTrait& to : dtypes()) {
      if (to.quantized && to.dtype != kQ4_0 && to.dtype != kQ8_0) continue;
      EXPECT_EQ(at_least_as_precise(to.dtype, from),
                std::ranges::find(allowed, to.dtype) != allowed.end())
          << to_string(from) << " as " << to.name;
    }
  }
}

TEST(DType, NamesIgnoreCase) {
  EXPECT_EQ(*dtype_from_name("q4_0"), DType::kQ4_0);
  EXPECT_EQ(*dtype_from_name("Bf16"), DType::kBF16);
  EXPECT_EQ(to_string(DType::kQ8_0), "Q8_0");
}

TEST(DType, KnownButUnsupportedTypesAreNamed) {
  struct Row {
    std::uint32_t number;
    const char* name;
  };
  for (const Row& row :
       {Row{3, "Q4_1"},     Row{6, "Q5_0"},    Row{7, "Q5_1"},     Row{9, "Q8_1"},
        Row{10, "Q2_K"},    Row{11, "Q3_K"},   Row{12, "Q4_K"},    Row{13, "Q5_K"},
        Row{14, "Q6_K"},    Row{15, "Q8_K"},   Row{16, "IQ2_XXS"}, Row{17, "IQ2_XS"},
        Row{18, "IQ3_XXS"}, Row{19, "IQ1_S"},  Row{20, "IQ4_NL"},  Row{21, "IQ3_S"},
        Row{22, "IQ2_S"},   Row{23, "IQ4_XS"}, Row{28, "F64"},     Row{29, "IQ1_M"},
        Row{34, "TQ1_0"},   Row{35, "TQ2_0"},  Row{39, "MXFP4"}}) {
    const auto by_number = dtype_from_gguf(row.number);
    if (by_number) continue;  // it has been added since
    EXPECT_EQ(by_number.error().code(), ErrorCode::kUnsupported);
    EXPECT_THAT(by_number.error().message(), HasSubstr(row.name));
    EXPECT_THAT(by_number.error().message(), HasSubstr(std::to_string(row.number)));
    const auto by_name = dtype_from_name(row.name);
    ASSERT_FALSE(by_name);
    EXPECT_EQ(by_name.error().code(), ErrorCode::kUnsupported);
    EXPECT_THAT(by_name.error().message(), HasSubstr(row.name));
  }
}

TEST(DType, UnknownTypesAreInvalid) {
  for (const std::uint32_t number : {4u, 5u, 31u, 36u, 255u, 256u, 0xffffffffu}) {
    const auto result = dtype_from_gguf(number);
    ASSERT_FALSE(result) << number;
    EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(result.error().message(), HasSubstr(std::to_string(number)));
  }
  EXPECT_THAT(dtype_from_name("float").error().message(), HasSubstr("'float'"));
  EXPECT_EQ(dtype_from_name("").error().code(), ErrorCode::kInvalidArgument);
}

template <class T>
std::vector<T> encode(DType dtype, const std::vector<float>& values) {
  std::vector<T> encoded(values.size());
  trait(dtype).encode(values.data(), reinterpret_cast<std::byte*>(encoded.data()),
                      static_cast<std::int64_t>(values.size()));
  return encoded;
}

TEST(DType, IntegersRoundToEvenAndSaturate) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_THAT(encode<std::int8_t>(
                  DType::kI8, {0.5f, 1.5f, -2.5f, 126.6f, 127.5f, 1e9f, -128.4f, -inf, inf, NAN}),
              ElementsAre(0, 2, -2, 127, 127, 127, -128, -128, 127, 0));
  EXPECT_THAT(encode<std::int16_t>(DType::kI16, {32767.0f, 32768.0f, -32768.0f, -32769.0f, NAN}),
              ElementsAre(32767, 32767, -32768, -32768, 0));
  EXPECT_THAT(
      encode<std::int32_t>(DType::kI32, {2147483520.0f, 2147483648.0f, -2147483648.0f, inf}),
      ElementsAre(2147483520, 2147483647, -2147483648, 2147483647));
  EXPECT_THAT(encode<std::int64_t>(DType::kI64, {0x1p62f, 0x1p63f, -0x1p63f, -inf}),
              ElementsAre(std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max(),
                          std::numeric_limits<std::int64_t>::min(),
                          std::numeric_limits<std::int64_t>::min()));
}

TEST(DType, IntegersDecodeToTheNearestFloat) {
  const std::array<std::int32_t, 4> values = {-7, 16777216, 16777217, 16777219};
  std::array<float, 4> decoded = {};
  trait(DType::kI32).decode(reinterpret_cast<const std::byte*>(values.data()), decoded.data(), 4);
  EXPECT_THAT(decoded, ElementsAre(-7.0f, 16777216.0f, 16777216.0f, 16777220.0f));
}

TEST(DType, F32KeepsEveryBit) {
  const std::array<float, 4> values = {-0.0f, 1e-45f, std::numeric_limits<float>::infinity(), 1.1f};
  std::array<std::byte, 16> bytes = {};
  std::array<float, 4> back = {};
  trait(DType::kF32).encode(values.data(), bytes.data(), 4);
  trait(DType::kF32).decode(bytes.data(), back.data(), 4);
  EXPECT_EQ(std::memcmp(values.data(), back.data(), sizeof values), 0);
}

TEST(ByteOrder, NumbersAreLittleEndianOnAnyHost) {
  const std::array<std::byte, 8> bytes = {std::byte{0x01}, std::byte{0x02}, std::byte{0x03},
                                          std::byte{0x84}, std::byte{0x05}, std::byte{0x06},
                                          std::byte{0x07}, std::byte{0x88}};
  EXPECT_EQ(load_little<std::uint8_t>(bytes.data()), 0x01);
  EXPECT_EQ(load_little<std::uint16_t>(bytes.data()), 0x0201);
  EXPECT_EQ(load_little<std::int32_t>(bytes.data()), -0x7bfcfdff);
  EXPECT_EQ(load_little<std::uint64_t>(bytes.data()), 0x8807060584030201u);
  std::array<std::byte, 8> back = {};
  store_little(std::uint64_t{0x8807060584030201u}, back.data());
  EXPECT_EQ(back, bytes);
  store_little(1.0f, back.data());
  EXPECT_THAT(std::span(back).first(4),
              ElementsAre(std::byte{0}, std::byte{0}, std::byte{0x80}, std::byte{0x3f}));
}

TEST(ByteOrder, DataInAFilesOrderBecomeTheHosts) {
  std::array<std::byte, 5> bytes = {std::byte{0x34}, std::byte{0x12}, std::byte{0x78},
                                    std::byte{0x56}, std::byte{9}};
  convert_little_endian(DType::kI16, bytes);
  std::array<std::int16_t, 2> values = {};
  std::memcpy(values.data(), bytes.data(), 4);
  EXPECT_THAT(values, ElementsAre(0x1234, 0x5678));
  EXPECT_EQ(bytes[4], std::byte{9});
}

}  // namespace
}  // namespace shunt
