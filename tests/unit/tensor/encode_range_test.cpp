// Encoders from the smallest values that a type holds to the largest, and beyond both ends. How
// close they come where scales are coarse, compared with every scale there is. Also the values that
// are refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/blocks.h"

namespace shunt::tensor_encode_range_test {
namespace {

using test::decode;
using test::encode;
using testing::HasSubstr;

std::vector<float> normal_values(std::size_t n, unsigned seed, float deviation = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(random) * deviation;
  return values;
}

std::vector<float> wide_weights(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> exponent(-1, 1);
  std::vector<float> weights(n);
  for (float& weight : weights) weight = std::pow(10.0f, exponent(random));
  return weights;
}

float largest_of(const std::vector<float>& values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(value));
  return largest;
}

/// The sum of weight * (value - decoded)^2 of elements [first, first + n), and that of zeros.
struct Loss {
  double error = 0;
  double zeros = 0;
  double relative() const { return std::sqrt(error / zeros); }
};
Loss loss(const std::vector<float>& values, const std::vector<float>& decoded,
          const std::vector<float>& weights, std::size_t first, std::size_t n) {
  Loss sum;
  for (std::size_t i = first; i < first + n; ++i) {
    const double value = values[i];
    sum.error += static_cast<double>(weights[i]) * std::pow(value - decoded[i], 2);
    sum.zeros += static_cast<double>(weights[i]) * value * value;
  }
  return sum;
}

/// A type, and half of the widest gap between numbers of a part that has the least scale: with
/// that, no value within reach is off by more.
struct Range {
  DType dtype;
  double half_gap;
};
constexpr double kLeastF16 = 0x1p-24;
const Range kRanges[] = {
    {DType::kQ4_0, 0.5 * kLeastF16},
    {DType::kQ4_1, 0.5 * kLeastF16},
    {DType::kQ5_0, 0.5 * kLeastF16},
    {DType::kQ5_1, 0.5 * kLeastF16},
    {DType::kQ2_K, 0.5 * kLeastF16},
    {DType::kQ3_K, 0.5 * kLeastF16},
    {DType::kQ4_K, 0.5 * kLeastF16},
    {DType::kQ5_K, 0.5 * kLeastF16},
    {DType::kQ6_K, 0.5 * kLeastF16},
    {DType::kIQ1_S, 0.5 * kLeastF16},
    {DType::kIQ1_M, 0.5 * kLeastF16},
    {DType::kIQ2_XXS, 0.125 * 9 * kLeastF16},  // levels 8, 25, 43, 1/8 of that at least
    {DType::kIQ2_XS, 0.125 * 9 * kLeastF16},
    {DType::kIQ2_S, 0.125 * 9 * kLeastF16},
    {DType::kIQ3_XXS, 0.25 * 5 * kLeastF16},  // 52 and 62, a quarter of that at least
    {DType::kIQ3_S, 1 * kLeastF16},
    {DType::kIQ4_NL, 12 * kLeastF16},  // 89 and 113
    {DType::kIQ4_XS, 12 * kLeastF16},
    {DType::kMXFP4, 1 * 0x1p-127},  // 4 and 6
};

/// From 1e-30 to 1e30: values that the type can hold come as close as at 1, but for half of its
/// widest gap where the scale is as small as there is. No block is worse than zeros. Values that
/// are too large are refused. (15% more, as it matters where between two scales of few bits the
/// best one is.)
TEST(EncodersInRange, AreNeverWorseThanZerosAtAnyMagnitude) {
  constexpr std::size_t kValues = 512;
  const auto weights = wide_weights(kValues, 1);
  for (const Range& range : kRanges) {
    const DTypeTrait& type = trait(range.dtype);
    const auto n = static_cast<std::size_t>(type.block_elements);
    std::vector<std::byte> bytes(kValues / n * type.block_bytes);
    const auto ones = normal_values(kValues, 2);
    const double ordinary =
        loss(ones, decode(type.dtype, encode(type.dtype, ones, weights)), weights, 0, kValues)
            .relative();
    int held = 0;
    for (int exponent = -120; exponent <= 120; ++exponent) {
      const auto deviation = static_cast<float>(std::pow(10.0, exponent * 0.25));
      const auto values = normal_values(kValues, 2, deviation);
      const Status status = encode_row(type.dtype, values, weights, bytes);
      ASSERT_EQ(status.has_value(), largest_of(values) <= type.largest)
          << type.name << " at " << deviation;
      if (!status) continue;
      ++held;
      const auto decoded = decode(type.dtype, bytes);
      for (std::size_t first = 0; first < kValues; first += n) {
        const Loss block = loss(values, decoded, weights, first, n);
        ASSERT_LE(block.error, block.zeros * (1 + 1e-6)) << type.name << " at " << deviation;
      }
      EXPECT_LE(loss(values, decoded, weights, 0, kValues).relative(),
                std::min(1.0, 1.15 * ordinary + range.half_gap / deviation) * (1 + 1e-6))
          << type.name << " at " << deviation;
    }
    EXPECT_GE(held, 120 + 4 * 4) << type.name;
  }
}

/// The same without weights, for the types that search then, too.
TEST(EncodersInRange, WithoutWeightsAreNeverWorseThanZeros) {
  constexpr std::size_t kValues = 512;
  const std::vector<float> alike(kValues, 1.0f);
  for (const DType dtype :
       {DType::kQ2_K, DType::kQ3_K, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kIQ3_XXS,
        DType::kIQ3_S, DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4}) {
    const auto n = static_cast<std::size_t>(trait(dtype).block_elements);
    for (int exponent = -36; exponent <= -12; ++exponent) {
      const auto deviation = static_cast<float>(std::pow(10.0, exponent * 0.25));
      const auto values = normal_values(kValues, 3, deviation);
      const auto decoded = decode(dtype, encode(dtype, values));
      for (std::size_t first = 0; first < kValues; first += n) {
        const Loss block = loss(values, decoded, alike, first, n);
        ASSERT_LE(block.error, block.zeros * (1 + 1e-6)) << to_string(dtype) << " " << deviation;
      }
    }
  }
}

/// The least error of 32 values when each is the nearest of `numbers` times `scale`.
double error_at(const std::vector<float>& values, const std::vector<float>& weights,
                const std::vector<double>& numbers, double scale) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double least = std::numeric_limits<double>::infinity();
    for (const double number : numbers) {
      least = std::min(least, std::fabs(values[i] - number * scale));
    }
    sum += static_cast<double>(weights[i]) * least * least;
  }
  return sum;
}

TEST(EncodersInRange, IQ4_NLFindsNearlyTheBestSmallScale) {
  const std::vector<double> levels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};
  const auto weights = wide_weights(32, 4);
  for (const float deviation : {3e-8f, 1e-7f, 3e-7f, 1e-6f, 3e-6f, 1e-5f}) {
    double found = 0;
    double best = 0;
    for (unsigned seed = 0; seed < 20; ++seed) {
      const auto values = normal_values(32, 100 + seed, deviation);
      const auto decoded = decode(DType::kIQ4_NL, encode(DType::kIQ4_NL, values, weights));
      found += loss(values, decoded, weights, 0, 32).error;
      double least = error_at(values, weights, levels, 0);
      // With 10 times the deviation for 127, nothing is out of reach.
      const int count = static_cast<int>(10 * deviation / 127 / kLeastF16) + 2;
      for (int i = 1; i <= count; ++i) {
        least = std::min({least, error_at(values, weights, levels, i * kLeastF16),
                          error_at(values, weights, levels, -i * kLeastF16)});
      }
      best += least;
    }
    EXPECT_GE(found, 0.9999 * best) << deviation;
    EXPECT_LE(found, 1.02 * best) << deviation;
  }
}

const std::vector<double> kE2M1 = {-6, -4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 6};

/// Of all exponents.
double best_mxfp4(const std::vector<float>& values, const std::vector<float>& weights) {
  double best = std::numeric_limits<double>::infinity();
  for (int e = 0; e < 255; ++e) {
    best = std::min(best, error_at(values, weights, kE2M1, std::ldexp(1.0, e - 127)));
  }
  return best;
}

TEST(EncodersInRange, MXFP4FindsTheBestScale) {
  const std::vector<float> alike(32, 1.0f);
  std::vector<float> few = wide_weights(32, 5);
  for (std::size_t i = 0; i < few.size(); i += 2) few[i] = 1e-6f;
  for (int exponent = -149; exponent <= 124; exponent += 3) {
    // Of about one size; and one that is far larger than all others.
    auto values = normal_values(32, static_cast<unsigned>(exponent + 200));
    for (const float outlier : {0.0f, 60.0f}) {
      if (outlier > 0) values[4] = outlier;
      std::vector<float> scaled = values;
      for (float& value : scaled) {
        value = static_cast<float>(std::ldexp(static_cast<double>(value), exponent));
      }
      if (!(largest_of(scaled) <= 0x1.8p127f)) continue;
      for (const auto& weights : {alike, few}) {
        const auto decoded = decode(DType::kMXFP4, encode(DType::kMXFP4, scaled, weights));
        EXPECT_LE(loss(scaled, decoded, weights, 0, 32).error,
                  best_mxfp4(scaled, weights) * (1 + 1e-5))
            << "2^" << exponent << ", outlier " << outlier;
      }
    }
  }
}

TEST(EncodersInRange, MXFP4RoundTripsAllItsValues) {
  for (int e = 0; e < 255; ++e) {
    std::vector<float> values(32);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double value = std::ldexp(kE2M1[i % kE2M1.size()], e - 127);
      values[i] = std::fabs(value) <= 0x1.8p127 ? static_cast<float>(value) : 0.0f;
    }
    EXPECT_EQ(decode(DType::kMXFP4, encode(DType::kMXFP4, values)), values) << "e = " << e;
    EXPECT_LE(largest_of(values), trait(DType::kMXFP4).largest);
  }
}

/// A block of one value, of either sign: the largest is held; the next is refused.
TEST(EncodeRow, AcceptsTheLargestValueAndRejectsLargerOnes) {
  int checked = 0;
  for (const DTypeTrait& type : dtypes()) {
    if (!type.quantized || (type.encode == nullptr && type.encode_weighted == nullptr)) continue;
    const auto n = static_cast<std::size_t>(type.block_elements);
    const std::vector<float> weights(n, 1.0f);
    std::vector<std::byte> bytes(type.block_bytes);
    for (const float sign : {1.0f, -1.0f}) {
      std::vector<float> values(n, sign * type.largest);
      ASSERT_TRUE(encode_row(type.dtype, values, weights, bytes)) << type.name;
      const auto decoded = decode(type.dtype, bytes);
      const double off = loss(values, decoded, weights, 0, n).relative();
      // Codebooks may not have the vector that is the farthest in all its elements.
      const bool codebook = type.needs_weights() || type.name.starts_with("IQ3");
      EXPECT_LE(off, codebook ? 0.5 : 0.04) << type.name << " " << sign;
      std::fill(values.begin(), values.end(), 0.0f);
      values[7] =
          std::nextafter(sign * type.largest, sign * std::numeric_limits<float>::infinity());
      for (const auto& importance : {weights, std::vector<float>()}) {
        if (importance.empty() && type.needs_weights()) continue;
        const Status status = encode_row(type.dtype, values, importance, bytes);
        ASSERT_FALSE(status) << type.name;
        EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
        EXPECT_THAT(status.error().message(),
                    HasSubstr(fmt::format("the value at column 7 is {}", values[7])));
        EXPECT_THAT(status.error().message(), HasSubstr(std::string(type.name)));
        EXPECT_THAT(status.error().message(), HasSubstr(fmt::format("{}", type.largest)));
      }
    }
    ++checked;
  }
  EXPECT_EQ(checked, 22);
}

/// Just within the range the scale's end costs next to nothing.
TEST(EncodeRow, KeepsItsPrecisionUpToTheLargestValue) {
  const auto weights = std::vector<float>(512, 1.0f);
  const auto ones = normal_values(512, 6);
  for (const DTypeTrait& type : dtypes()) {
    if (!type.quantized || (type.encode == nullptr && type.encode_weighted == nullptr)) continue;
    auto values = ones;
    for (float& value : values) value *= type.largest / largest_of(ones) * 0.999f;
    std::vector<std::byte> bytes(512 / static_cast<std::size_t>(type.block_elements) *
                                 type.block_bytes);
    ASSERT_TRUE(encode_row(type.dtype, ones, {weights}, bytes));
    const double ordinary =
        loss(ones, decode(type.dtype, bytes), weights, 0, weights.size()).relative();
    ASSERT_TRUE(encode_row(type.dtype, values, {weights}, bytes));
    const double here =
        loss(values, decode(type.dtype, bytes), weights, 0, weights.size()).relative();
    EXPECT_LE(here, 1.1 * ordinary) << type.name;
  }
}

}  // namespace
}  // namespace shunt::tensor_encode_range_test
