// The table of element types, and their names and numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "shunt/tensor.h"
#include "support/big_endian.h"
#include "tensor/byte_order.h"

namespace shunt::tensor_dtype_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(DType, TableIsInOrderAndComplete) {
  std::vector<int> numbers;
  for (const DTypeTrait& row : dtypes()) {
    numbers.push_back(static_cast<int>(row.dtype));
    EXPECT_EQ(&trait(row.dtype), &row);
    EXPECT_NE(row.decode, nullptr);
    EXPECT_EQ(row.quantized, row.block_elements > 1);
    EXPECT_EQ(*dtype_from_name(row.name), row.dtype);
    EXPECT_EQ(*dtype_from_gguf(static_cast<std::uint32_t>(row.dtype)), row.dtype);
  }
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
                                   20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 34, 35, 39));
}

TEST(DType, BlockSizesMatchTheFormat) {
  struct Row {
    DType dtype;
    std::int64_t elements;
    std::size_t bytes;
  };
  for (const Row& row :
       {Row{DType::kF32, 1, 4},        Row{DType::kF16, 1, 2},       Row{DType::kBF16, 1, 2},
        Row{DType::kF64, 1, 8},        Row{DType::kI8, 1, 1},        Row{DType::kI16, 1, 2},
        Row{DType::kI32, 1, 4},        Row{DType::kI64, 1, 8},       Row{DType::kQ4_0, 32, 18},
        Row{DType::kQ4_1, 32, 20},     Row{DType::kQ5_0, 32, 22},    Row{DType::kQ5_1, 32, 24},
        Row{DType::kQ8_0, 32, 34},     Row{DType::kQ8_1, 32, 36},    Row{DType::kMXFP4, 32, 17},
        Row{DType::kIQ4_NL, 32, 18},   Row{DType::kQ2_K, 256, 84},   Row{DType::kQ3_K, 256, 110},
        Row{DType::kQ4_K, 256, 144},   Row{DType::kQ5_K, 256, 176},  Row{DType::kQ6_K, 256, 210},
        Row{DType::kQ8_K, 256, 292},   Row{DType::kIQ1_S, 256, 50},  Row{DType::kIQ1_M, 256, 56},
        Row{DType::kIQ2_XXS, 256, 66}, Row{DType::kIQ2_XS, 256, 74}, Row{DType::kIQ2_S, 256, 82},
        Row{DType::kIQ3_XXS, 256, 98}, Row{DType::kIQ3_S, 256, 110}, Row{DType::kIQ4_XS, 256, 136},
        Row{DType::kTQ1_0, 256, 54},   Row{DType::kTQ2_0, 256, 66}}) {
    EXPECT_EQ(trait(row.dtype).block_elements, row.elements) << to_string(row.dtype);
    EXPECT_EQ(trait(row.dtype).block_bytes, row.bytes) << to_string(row.dtype);
  }
}

TEST(DType, PrecisionIsStatedForNonIntegersAndKept) {
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

TEST(DType, AtLeastAsPreciseNeedsPrecisionAndRange) {
  using enum DType;
  const std::vector<std::pair<DType, std::vector<DType>>> expected = {
      // from, and the types that it may become
      {kF64, {kF64}},
      {kF32, {kF64, kF32}},
      {kF16, {kF64, kF32, kF16}},
      {kBF16, {kF64, kF32, kBF16}},  // F16 ends at 65504
      {kQ8_0, {kF64, kF32, kF16, kQ8_0, kBF16}},
      {kQ4_0, {kF64, kF32, kF16, kQ4_0, kQ8_0, kBF16}},
      {kQ4_K, {kF64, kF32, kF16, kQ8_0, kBF16}},
      {kQ6_K, {kF64, kF32, kF16, kQ8_0, kBF16}},
      {kMXFP4, {kF64, kF32, kBF16}},  // F16's exponents are fewer
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

TEST(DType, StatesWhichTypesCanBeEncoded) {
  using Set = std::vector<std::string_view>;
  Set needs_weights, never;
  for (const DTypeTrait& row : dtypes()) {
    if (row.needs_weights()) needs_weights.push_back(row.name);
    if (row.encode == nullptr && row.encode_weighted == nullptr) never.push_back(row.name);
  }
  EXPECT_THAT(needs_weights, ElementsAre("IQ2_XXS", "IQ2_XS", "IQ1_S", "IQ2_S", "IQ1_M"));
  EXPECT_THAT(never, ElementsAre("Q8_1", "Q8_K"));
}

TEST(DType, UnknownTypesAreInvalid) {
  for (const std::uint32_t number : {4u, 5u, 31u, 36u, 40u, 255u, 256u, 0xffffffffu}) {
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

TEST(DType, F64RoundsToTheNearestFloat) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  const float inf = std::numeric_limits<float>::infinity();
  const std::array<double, 8> values = {1.0 + 0x1p-25,      1.0 + 0x1.8p-24, -1e-60, kLargest,
                                        kLargest + 0x1p102, 1e300,           -1e300, NAN};
  std::array<float, 8> decoded = {};
  trait(DType::kF64).decode(reinterpret_cast<const std::byte*>(values.data()), decoded.data(), 8);
  EXPECT_THAT(std::span(decoded).first(7),
              ElementsAre(1.0f, 1.0f + 0x1p-23f, 0.0f, std::numeric_limits<float>::max(),
                          std::numeric_limits<float>::max(), inf, -inf));
  EXPECT_TRUE(std::isnan(decoded[7]));
  EXPECT_THAT(encode<double>(DType::kF64, {1.1f, -inf, 1e-45f}),
              ElementsAre(static_cast<double>(1.1f), -std::numeric_limits<double>::infinity(),
                          static_cast<double>(1e-45f)));
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

TEST(ByteOrder, LoadBitsFollowsTheGivenOrder) {
  const std::array<std::byte, 3> bytes = {std::byte{0x01}, std::byte{0x02}, std::byte{0x83}};
  EXPECT_EQ(load_bits(bytes.data(), 3, std::endian::little), 0x830201u);
  EXPECT_EQ(load_bits(bytes.data(), 3, std::endian::big), 0x010283u);
  EXPECT_EQ(load_bits(bytes.data() + 2, 1, std::endian::big), 0x83u);
}

TEST(ByteOrder, DataIsConvertedFromFileToHostOrder) {
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    std::array<std::byte, 5> bytes = {std::byte{0x34}, std::byte{0x12}, std::byte{0x78},
                                      std::byte{0x56}, std::byte{9}};
    convert_byte_order(DType::kI16, order, bytes);
    std::array<std::int16_t, 2> values = {};
    std::memcpy(values.data(), bytes.data(), 4);
    const bool little = order == std::endian::little;
    EXPECT_THAT(values, ElementsAre(little ? 0x1234 : 0x3412, little ? 0x5678 : 0x7856));
    EXPECT_EQ(bytes[4], std::byte{9});
    EXPECT_EQ(is_as_in_memory(DType::kI16, order), order == std::endian::native);
    EXPECT_TRUE(is_as_in_memory(DType::kI8, order));
  }
}

TEST(ByteOrder, OfBlocksInMemoryIsLittleEndianOnAnyHost) {
  EXPECT_EQ(order_in_memory(DType::kF32), std::endian::native);
  EXPECT_EQ(order_in_memory(DType::kQ4_0), std::endian::little);
  EXPECT_TRUE(is_as_in_memory(DType::kQ4_0, std::endian::little));
  EXPECT_FALSE(is_as_in_memory(DType::kQ4_0, std::endian::big));
  EXPECT_TRUE(is_as_in_memory(DType::kMXFP4, std::endian::big));  // nothing but bytes
}

TEST(ByteOrder, ConversionOfEachTypeFollowsItsDescription) {
  std::mt19937 random(3);
  for (const DTypeTrait& type : dtypes()) {
    std::vector<std::byte> memory(type.block_bytes * 7);
    for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
    std::vector<std::byte> file = memory;  // a big-endian one
    if (order_in_memory(type.dtype) == std::endian::little) {
      test::swap_blocks(static_cast<std::uint32_t>(type.dtype), file);
    }
    const std::vector<std::byte> before = file;
    convert_byte_order(type.dtype, std::endian::big, file);
    EXPECT_EQ(file, memory) << type.name;
    convert_byte_order(type.dtype, std::endian::big, file);
    EXPECT_EQ(file, before) << type.name;
  }
}

}  // namespace
}  // namespace shunt::tensor_dtype_test
