// Block formats: properties that hold for all of them, and vectors recorded elsewhere
// (shared/data/quant). Q4_0 and Q8_0 by hand, too; the others are in
// formats_by_hand_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/blocks.h"
#include "tensor/byte_order.h"
#include "test_paths.h"

namespace shunt::tensor_formats_test {
namespace {

using testing::Each;

using test::decode;
using test::encode;

std::vector<std::byte> bytes(std::initializer_list<int> numbers) {
  std::vector<std::byte> result;
  for (const int number : numbers) result.push_back(static_cast<std::byte>(number));
  return result;
}

TEST(Q4_0, DecodesByHand) {
  // d = 0.5 (0x3800). Byte 0 holds elements 0 (low nibble) and 16 (high nibble), byte 15 those at
  // 15 and 31.
  const auto block = bytes({0x00, 0x38, 0xf0, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88,
                            0x88, 0x88, 0x88, 0x88, 0x88, 0x9a});
  std::vector<float> expected(32, 0.0f);
  expected[0] = (0 - 8) * 0.5f;
  expected[16] = (15 - 8) * 0.5f;
  expected[15] = (10 - 8) * 0.5f;
  expected[31] = (9 - 8) * 0.5f;
  EXPECT_EQ(decode(DType::kQ4_0, block), expected);
}

TEST(Q4_0, EncodesByHand) {
  // The largest magnitude is first met as +4, so that d = -0.5 (0xb800) and q = trunc(x * -2
  // + 8.5).
  std::vector<float> values(32, 0.0f);
  values[1] = 4.0f;     // 0
  values[2] = -4.0f;    // trunc(16.5) = 16, held to 15
  values[17] = 1.25f;   // trunc(6.0) = 6
  values[31] = -0.25f;  // trunc(9.0) = 9
  EXPECT_EQ(encode(DType::kQ4_0, values),
            bytes({0x00, 0xb8, 0x88, 0x60, 0x8f, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88,
                   0x88, 0x88, 0x88, 0x88, 0x98}));
}

TEST(Q8_0, DecodesByHand) {
  std::vector<std::byte> block(34, std::byte{0});
  block[1] = std::byte{0x40};   // d = 2 (0x4000)
  block[2] = std::byte{127};    // element 0
  block[3] = std::byte{0x80};   // element 1: -128
  block[33] = std::byte{0xff};  // element 31: -1
  std::vector<float> expected(32, 0.0f);
  expected[0] = 254.0f;
  expected[1] = -256.0f;
  expected[31] = -2.0f;
  EXPECT_EQ(decode(DType::kQ8_0, block), expected);
}

TEST(Q8_0, EncodesByHand) {
  std::vector<float> values(32, 0.0f);
  values[0] = -127.0f;  // d = 1 (0x3c00)
  values[1] = 2.5f;     // away from zero: 3
  values[2] = -2.5f;    // -3
  values[31] = 126.4f;  // 126
  std::vector<std::byte> expected(34, std::byte{0});
  expected[1] = std::byte{0x3c};
  expected[2] = std::byte{0x81};
  expected[3] = std::byte{3};
  expected[4] = std::byte{0xfd};
  expected[33] = std::byte{126};
  EXPECT_EQ(encode(DType::kQ8_0, values), expected);
}

/// The block types that can be encoded.
std::vector<DTypeTrait> encodable() {
  std::vector<DTypeTrait> types;
  for (const DTypeTrait& type : dtypes()) {
    if (type.quantized && (type.encode != nullptr || type.needs_weights())) types.push_back(type);
  }
  return types;
}

TEST(Blocks, OfZerosStayZero) {
  for (const DTypeTrait& type : encodable()) {
    const std::vector<float> zeros(static_cast<std::size_t>(type.block_elements) * 2, 0.0f);
    EXPECT_THAT(decode(type.dtype, encode(type.dtype, zeros)), Each(0.0f)) << type.name;
  }
}

TEST(Blocks, OfAnyFloatsDecodeToFiniteOnes) {
  using Limits = std::numeric_limits<float>;
  const std::array<float, 12> hard = {
      NAN,           -NAN,           INFINITY,      -INFINITY,
      Limits::max(), -Limits::max(), Limits::min(), Limits::denorm_min(),
      1e-41f,        -1e-44f,        7e-8f,         70000.0f};
  for (const DTypeTrait& type : encodable()) {
    const auto n = static_cast<std::size_t>(type.block_elements);
    std::vector<float> weights(n, 1.0f);
    weights[7] = 0.0f;
    for (const float special : hard) {
      for (const float rest : {0.0f, 1.0f, special}) {
        std::vector<float> values(n, rest);
        values[5] = special;
        values[8] = -special;
        for (const float value : decode(type.dtype, encode(type.dtype, values))) {
          ASSERT_TRUE(std::isfinite(value)) << type.name << " " << special << " beside " << rest;
        }
        if (type.encode_weighted == nullptr) continue;
        for (const float weight : hard) {
          weights[9] = weight;
          for (const float value : decode(type.dtype, encode(type.dtype, values, weights))) {
            ASSERT_TRUE(std::isfinite(value)) << type.name << " " << special << " * " << weight;
          }
        }
      }
    }
  }
}

TEST(Blocks, OfAnyBytesDecodeIndependently) {
  std::mt19937 random(1);
  for (const DTypeTrait& type : dtypes()) {
    constexpr std::size_t kBlocks = 300;
    std::vector<std::byte> blocks(kBlocks * type.block_bytes);
    for (std::byte& byte : blocks) byte = static_cast<std::byte>(random());
    const std::vector<float> together = decode(type.dtype, blocks);
    const auto n = static_cast<std::size_t>(type.block_elements);
    ASSERT_EQ(together.size(), kBlocks * n);
    for (std::size_t i = 0; i < kBlocks; ++i) {
      // In memory of its own, so that a sanitizer sees reads beside it.
      const std::vector<std::byte> block(
          blocks.begin() + static_cast<std::ptrdiff_t>(i * type.block_bytes),
          blocks.begin() + static_cast<std::ptrdiff_t>((i + 1) * type.block_bytes));
      const std::vector<float> alone = decode(type.dtype, block);
      ASSERT_EQ(std::memcmp(alone.data(), together.data() + i * n, n * sizeof(float)), 0)
          << type.name << " block " << i;
    }
  }
}

/// Values that a type holds, encoded again, are the same.
TEST(Blocks, OfDecodedValuesReencodeToTheSameValues) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (const DTypeTrait& type : encodable()) {
    std::vector<float> values(256 * 8);
    for (float& value : values) value = normal(random);
    const std::vector<float> once = decode(type.dtype, encode(type.dtype, values));
    const std::vector<float> twice = decode(type.dtype, encode(type.dtype, once));
    if (type.encode_weighted == nullptr) {
      EXPECT_EQ(twice, once) << type.name;
      continue;
    }
    // Those that search for a scale may find another one that is about as good.
    double changed = 0;
    double lost = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      changed += std::pow(twice[i] - once[i], 2);
      lost += std::pow(once[i] - values[i], 2);
    }
    EXPECT_LE(changed, 0.1 * lost) << type.name;
  }
}

TEST(Blocks, OfTinyNumbersKeepTheirSign) {
  // 1/d overflows here; the values it scales must still land on the right side.
  std::vector<float> values(32, 1e-41f);
  values[3] = -1e-41f;
  const std::vector<std::byte> block = encode(DType::kQ8_0, values);
  EXPECT_EQ(block[2], std::byte{127});
  EXPECT_EQ(block[2 + 3], std::byte{0x81});
}

// ---- Recorded vectors ----

std::vector<std::byte> read_bytes(const std::string& name) {
  std::ifstream file(SHUNT_TEST_SHARED "/data/quant/" + name, std::ios::binary);
  std::vector<std::byte> content;
  for (std::istreambuf_iterator<char> at(file), end; at != end; ++at) {
    content.push_back(static_cast<std::byte>(*at));
  }
  return content;
}

std::vector<float> read_floats(const std::string& name) {
  const std::vector<std::byte> content = read_bytes(name);
  std::vector<float> values(content.size() / sizeof(float));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = load_little<float>(&content[i * sizeof(float)]);
  }
  return values;
}

TEST(RecordedBlocks, DecodeToTheSameBits) {
  int checked = 0;
  for (const DTypeTrait& type : dtypes()) {
    const std::string name(type.name);
    const auto blocks = read_bytes(name + ".blocks.bin");
    const auto expected = read_floats(name + ".f32.bin");
    if (blocks.empty()) continue;
    const std::vector<float> values = decode(type.dtype, blocks);
    ASSERT_EQ(values.size(), expected.size()) << name;
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(expected[i]))
          << name << " element " << i;
    }
    ++checked;
  }
  if (checked == 0)
    GTEST_SKIP() << "NOT CHECKED: no vectors under " SHUNT_TEST_SHARED "/data/quant";
  EXPECT_EQ(checked, 21);  // all block types but Q8_1, Q8_K and MXFP4
}

TEST(RecordedFloats, EncodeToTheSameBytes) {
  int checked = 0;
  for (const DTypeTrait& type : dtypes()) {
    const std::string name(type.name);
    const auto values = read_floats(name + ".encode.f32.bin");
    const auto expected = read_bytes(name + ".encode.blocks.bin");
    if (values.empty()) continue;
    std::vector<std::byte> blocks = encode(type.dtype, values);
    convert_byte_order(type.dtype, std::endian::little, blocks);  // plain types: BF16
    ASSERT_EQ(blocks.size(), expected.size()) << name;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      ASSERT_EQ(blocks[i], expected[i]) << name << " byte " << i;
    }
    ++checked;
  }
  if (checked == 0)
    GTEST_SKIP() << "NOT CHECKED: no vectors under " SHUNT_TEST_SHARED "/data/quant";
  EXPECT_EQ(checked, 8);
}

}  // namespace
}  // namespace shunt::tensor_formats_test
