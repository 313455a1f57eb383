// F16 and BF16, compared with their definition: the value of each bit pattern is computed with
// ldexp, and rounding is looked up as the nearest of all those values.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tensor/formats/half.h"

namespace shunt::formats::tensor_half_test {
namespace {

/// A binary float of `mantissa_bits` and an exponent of `exponent_bits`, finite.
double meaning(unsigned bits, int exponent_bits, int mantissa_bits) {
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = static_cast<int>(bits) & ((1 << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

/// Of the positive patterns below `infinity`, and infinity itself, the nearest; of two, the even
/// one. For rounding, infinity stands where the next value would be.
unsigned nearest(double magnitude, const std::vector<double>& values) {
  const auto above =
      static_cast<std::size_t>(std::ranges::lower_bound(values, magnitude) - values.begin());
  if (above == values.size()) return static_cast<unsigned>(above - 1);
  if (above == 0 || values[above] == magnitude) return static_cast<unsigned>(above);
  const double down = magnitude - values[above - 1];
  const double up = values[above] - magnitude;
  if (down == up) return static_cast<unsigned>(above % 2 == 0 ? above : above - 1);
  return static_cast<unsigned>(down < up ? above - 1 : above);
}

/// The values of all positive patterns up to infinity's, in order: index = pattern.
std::vector<double> positive_values(int exponent_bits, int mantissa_bits) {
  std::vector<double> values;
  const unsigned infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  for (unsigned bits = 0; bits <= infinity; ++bits) {
    values.push_back(meaning(bits, exponent_bits, mantissa_bits));
  }
  return values;
}

/// Floats of every exponent, with mantissas that are easy to round wrongly, and random ones.
std::vector<float> samples() {
  std::vector<float> result;
  std::mt19937 random(1);
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (std::uint32_t shift = 0; shift < 24; ++shift) {
      for (const std::uint32_t mantissa :
           {1u << shift, (1u << shift) - 1, (1u << shift) + 1, 3u << shift, (3u << shift) - 1,
            (3u << shift) + 1, (5u << shift), 0x7fffffu - (1u << shift),
            static_cast<std::uint32_t>(random())}) {
        result.push_back(std::bit_cast<float>(exponent << 23 | (mantissa & 0x7fffffu)));
      }
    }
  }
  return result;
}

TEST(F16, EveryBitPatternRoundTrips) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = f16_to_f32(half);
    if ((bits & 0x7c00u) != 0x7c00u) {
      ASSERT_EQ(value, meaning(bits, 5, 10)) << bits;
      ASSERT_EQ(std::signbit(value), (bits & 0x8000u) != 0) << bits;
      ASSERT_EQ(f32_to_f16(value), half);
    } else if ((bits & 0x3ffu) == 0) {
      ASSERT_EQ(value, (bits & 0x8000u) != 0 ? -INFINITY : INFINITY);
      ASSERT_EQ(f32_to_f16(value), half);
    } else {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_EQ(f32_to_f16(value), half | 0x200u) << bits;  // quiet
    }
  }
}

TEST(F16, RoundsToNearestEven) {
  const std::vector<double> values = positive_values(5, 10);
  for (const float value : samples()) {
    const unsigned expected = nearest(value, values);
    ASSERT_EQ(f32_to_f16(value), expected) << value;
    ASSERT_EQ(f32_to_f16(-value), expected | 0x8000u) << -value;
  }
}

TEST(F16, EdgesByHand) {
  EXPECT_EQ(f32_to_f16(1.0f), 0x3c00);
  EXPECT_EQ(f32_to_f16(-2.0f), 0xc000);
  EXPECT_EQ(f32_to_f16(65504.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(f32_to_f16(0x1p-14f), 0x0400);
  EXPECT_EQ(f32_to_f16(0x1p-24f), 0x0001);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);  // halfway to the smallest subnormal: to even
  EXPECT_EQ(f32_to_f16(std::nextafter(0x1p-25f, 1.0f)), 0x0001);
  EXPECT_EQ(f32_to_f16(0x1.8p-24f), 0x0002);
  EXPECT_EQ(f32_to_f16(-0.0f), 0x8000);
  EXPECT_EQ(f32_to_f16(NAN) & 0x7e00, 0x7e00);
}

TEST(BF16, EveryBitPatternRoundTrips) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto bf16 = static_cast<std::uint16_t>(bits);
    const float value = bf16_to_f32(bf16);
    if ((bits & 0x7f80u) != 0x7f80u) {
      ASSERT_EQ(value, meaning(bits, 8, 7)) << bits;
      ASSERT_EQ(f32_to_bf16(value), bf16);
    } else if ((bits & 0x7fu) == 0) {
      ASSERT_EQ(value, (bits & 0x8000u) != 0 ? -INFINITY : INFINITY);
      ASSERT_EQ(f32_to_bf16(value), bf16);
    } else {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_EQ(f32_to_bf16(value), bf16 | 0x40u) << bits;  // quiet
    }
  }
}

TEST(BF16, RoundsToNearestEven) {
  const std::vector<double> values = positive_values(8, 7);
  for (const float value : samples()) {
    const unsigned expected = nearest(value, values);
    ASSERT_EQ(f32_to_bf16(value), expected) << value;
    ASSERT_EQ(f32_to_bf16(-value), expected | 0x8000u) << -value;
  }
}

TEST(BF16, NaNWhosePayloadIsInTheLowerHalfStaysNaN) {
  const auto value = std::bit_cast<float>(0x7f800001u);
  EXPECT_EQ(f32_to_bf16(value), 0x7fc0);
}

}  // namespace
}  // namespace shunt::formats::tensor_half_test
