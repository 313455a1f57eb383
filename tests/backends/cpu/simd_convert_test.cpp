// Vector decoding and encoding match each type's trait, bit by bit, at every level.
#include "backends/cpu/simd/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/every_level.h"

namespace shunt::cpu::simd::simd_convert_test {
namespace {

class CpuSimdConvert : public AtLevel {};

void expect_same(const std::vector<float>& got, const std::vector<float>& want,
                 std::string_view what) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool both_nan = std::isnan(got[i]) && std::isnan(want[i]);
    EXPECT_TRUE(both_nan ||
                std::bit_cast<std::uint32_t>(got[i]) == std::bit_cast<std::uint32_t>(want[i]))
        << what << " element " << i << ": " << got[i] << " instead of " << want[i];
  }
}

/// `count` elements that start at `bytes`, decoded both ways.
void check_decode(DType dtype, const std::byte* bytes, std::int64_t count) {
  std::vector<float> got(static_cast<std::size_t>(count) + 1, 7.0F);
  std::vector<float> want = got;
  decode(test_level(), dtype, bytes, got.data(), count);
  trait(dtype).decode(bytes, want.data(), count);
  expect_same(got, want, to_string(dtype));
}

TEST_P(CpuSimdConvert, DecodesEverySixteenBitPattern) {
  std::vector<std::uint16_t> patterns(65536);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
  const auto* bytes = reinterpret_cast<const std::byte*>(patterns.data());
  check_decode(DType::kF16, bytes, 65536);
  check_decode(DType::kBF16, bytes, 65536);
}

TEST_P(CpuSimdConvert, DecodesAnyBlock) {
  std::mt19937 random(3);
  for (DType dtype : {DType::kQ8_0, DType::kQ4_0}) {
    std::vector<std::byte> blocks(trait(dtype).block_bytes * 64);
    for (std::byte& byte : blocks) byte = static_cast<std::byte>(random());
    for (std::int64_t n = 0; n <= 64 * 32; n += 32) check_decode(dtype, blocks.data(), n);
  }
}

TEST_P(CpuSimdConvert, DecodesTailsOfEveryLength) {
  std::mt19937 random(4);
  for (const DTypeTrait& type : dtypes()) {
    std::vector<std::byte> bytes(type.block_bytes * 70);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    for (std::int64_t n = 0; n <= 70; ++n) {
      if (n % type.block_elements == 0) check_decode(type.dtype, bytes.data(), n);
    }
  }
}

TEST_P(CpuSimdConvert, EncodesLikeTheTypeTrait) {
  // Random bit patterns: all exponents, subnormals, infinities and NaNs.
  std::mt19937 random(5);
  std::vector<float> values(64 * 1024);
  for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  for (std::size_t i = 0; i < values.size(); i += 3) values[i] = std::ldexp(values[i], -90) + 1.0F;
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0}) {
    const DTypeTrait& type = trait(dtype);
    for (std::int64_t n = 0; n <= 70; ++n) {
      if (n % type.block_elements != 0) continue;
      std::vector<std::byte> got(type.block_bytes * 71, std::byte{9});
      std::vector<std::byte> want = got;
      encode(test_level(), values.data(), dtype, got.data(), n);
      type.encode(values.data(), want.data(), n);
      EXPECT_EQ(got, want) << type.name << " " << n;
    }
    const auto n = static_cast<std::int64_t>(values.size());
    std::vector<std::byte> got(values.size() / static_cast<std::size_t>(type.block_elements) *
                               type.block_bytes);
    std::vector<std::byte> want = got;
    encode(test_level(), values.data(), dtype, got.data(), n);
    type.encode(values.data(), want.data(), n);
    EXPECT_TRUE(got == want) << type.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuSimdConvert, testing::ValuesIn(level_names()), name_of_level);

}  // namespace
}  // namespace shunt::cpu::simd::simd_convert_test
