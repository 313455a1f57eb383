// Encoders: the rows that encode_row() refuses, how close those that search come, and the effect of
// weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "support/blocks.h"
#include "tensor/formats/codebook_search.h"
#include "tensor/formats/scale_search.h"

namespace shunt::tensor_encode_test {
namespace {

using test::decode;
using test::encode;
using testing::HasSubstr;

constexpr std::size_t kRow = 4096;

std::vector<float> normal_values(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

/// From 0.1 to 10, each decade as likely.
std::vector<float> wide_weights(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> exponent(-1, 1);
  std::vector<float> weights(n);
  for (float& weight : weights) weight = std::pow(10.0f, exponent(random));
  return weights;
}

/// Sum of weight * error^2, relative to the sum of weight * value^2.
double relative_error(const std::vector<float>& values, const std::vector<float>& decoded,
                      const std::vector<float>& weights) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double weight = weights.empty() ? 1 : weights[i];
    error += weight * std::pow(static_cast<double>(values[i]) - decoded[i], 2);
    norm += weight * std::pow(static_cast<double>(values[i]), 2);
  }
  return error / norm;
}

struct Refusal {
  DType dtype;
  std::size_t values, importance, bytes;
  ErrorCode code;
  std::vector<std::string> facts;
};

TEST(EncodeRow, RejectsWrongSizesAndTypesWithTheFacts) {
  constexpr ErrorCode kInvalid = ErrorCode::kInvalidArgument;
  constexpr ErrorCode kUnsupported = ErrorCode::kUnsupported;
  for (const Refusal& refusal :
       {Refusal{DType::kQ4_0, 48, 0, 27, kInvalid, {"48", "Q4_0", "32"}},
        Refusal{DType::kQ4_0, 64, 0, 35, kInvalid, {"64", "Q4_0", "36 bytes", "35"}},
        Refusal{DType::kF16, 3, 0, 8, kInvalid, {"F16", "6 bytes", "8"}},
        Refusal{
            DType::kQ4_K, 512, 256, 288, kInvalid, {"512", "256", "numbers of their importance"}},
        Refusal{DType::kQ8_1, 32, 0, 36, kUnsupported, {"Q8_1", "storage"}},
        Refusal{DType::kQ8_K, 256, 256, 292, kUnsupported, {"Q8_K", "storage"}},
        Refusal{DType::kIQ1_S, 256, 0, 50, kUnsupported, {"IQ1_S", "importance matrix"}},
        Refusal{DType::kIQ1_M, 256, 0, 56, kUnsupported, {"IQ1_M", "importance matrix"}},
        Refusal{DType::kIQ2_XXS, 256, 0, 66, kUnsupported, {"IQ2_XXS", "importance matrix"}},
        Refusal{DType::kIQ2_XS, 256, 0, 74, kUnsupported, {"IQ2_XS", "importance matrix"}},
        Refusal{DType::kIQ2_S, 256, 0, 82, kUnsupported, {"IQ2_S", "importance matrix"}}}) {
    const std::vector<float> values(refusal.values, 1.0f);
    const std::vector<float> importance(refusal.importance, 1.0f);
    std::vector<std::byte> bytes(refusal.bytes);
    const Status status = encode_row(refusal.dtype, values, importance, bytes);
    ASSERT_FALSE(status) << to_string(refusal.dtype);
    EXPECT_EQ(status.error().code(), refusal.code);
    for (const std::string& fact : refusal.facts) {
      EXPECT_THAT(status.error().message(), HasSubstr(fact));
    }
  }
}

TEST(EncodeRow, RejectsNonFiniteValuesAndInvalidWeights) {
  std::vector<float> values(32, 1.0f);
  std::vector<float> importance(32, 1.0f);
  std::vector<std::byte> bytes(18);
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    values[9] = bad;
    const Status status = encode_row(DType::kIQ4_NL, values, {}, bytes);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message(), HasSubstr("the value at column 9 is "));
    EXPECT_THAT(status.error().message(), HasSubstr("IQ4_NL"));
  }
  values[9] = 1.0f;
  for (const float bad : {NAN, INFINITY, -1.0f}) {
    importance[3] = bad;
    const Status status = encode_row(DType::kIQ4_NL, values, importance, bytes);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message(), HasSubstr("column 3"));
  }
}

TEST(EncodeRow, EqualsTheEncoderOfTheTrait) {
  const std::vector<float> values = normal_values(512, 1);
  const std::vector<float> weights = wide_weights(512, 2);
  for (const DTypeTrait& type : dtypes()) {
    if (type.encode == nullptr && type.encode_weighted == nullptr) continue;
    const bool weighted = type.encode_weighted != nullptr;
    const auto expected = encode(type.dtype, values, weighted ? weights : std::vector<float>());
    std::vector<std::byte> bytes(expected.size());
    const Status status = encode_row(type.dtype, values, weights, bytes);
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_EQ(bytes, expected) << type.name;
    if (type.encode == nullptr) continue;
    ASSERT_TRUE(encode_row(type.dtype, values, {}, bytes));
    EXPECT_EQ(bytes, encode(type.dtype, values)) << type.name;
  }
  EXPECT_TRUE(encode_row(DType::kQ4_K, {}, {}, {}));
  const float not_a_number = NAN;
  std::byte four[4];
  EXPECT_TRUE(encode_row(DType::kF32, {&not_a_number, 1}, {}, four));
}

TEST(Encoders, StayWithinTheirRmsErrorBounds) {
  struct Bound {
    DType dtype;
    double rms;  // relative
  };
  const std::vector<float> values = normal_values(4 * kRow, 3);
  for (const Bound& bound :
       {Bound{DType::kQ2_K, 0.285}, Bound{DType::kQ3_K, 0.147}, Bound{DType::kQ4_K, 0.0705},
        Bound{DType::kQ5_K, 0.0352}, Bound{DType::kQ6_K, 0.0172}, Bound{DType::kIQ4_NL, 0.0750},
        Bound{DType::kIQ4_XS, 0.0757}, Bound{DType::kIQ3_S, 0.164},
        Bound{DType::kIQ3_XXS, 0.211}}) {
    const auto decoded = decode(bound.dtype, encode(bound.dtype, values));
    EXPECT_LE(std::sqrt(relative_error(values, decoded, {})), bound.rms) << to_string(bound.dtype);
  }
}

TEST(Encoders, ReduceTheErrorWhereWeightsAreLarge) {
  const std::vector<float> values = normal_values(2 * kRow, 4);
  const std::vector<float> weights = wide_weights(values.size(), 5);
  int checked = 0;
  for (const DTypeTrait& type : dtypes()) {
    if (type.encode_weighted == nullptr) continue;
    const auto plain = decode(type.dtype, encode(type.dtype, values));
    const auto weighted = decode(type.dtype, encode(type.dtype, values, weights));
    // MXFP4 has nothing but a power of two to choose.
    const double at_most = type.dtype == DType::kMXFP4 ? 1.0 : 0.9;
    EXPECT_LT(relative_error(values, weighted, weights),
              at_most * relative_error(values, plain, weights))
        << type.name;
    ++checked;
  }
  EXPECT_GE(checked, 15);
}

/// One value in a block matters alone: it is kept much better than it would be.
TEST(Encoders, PreserveTheOnlyValueWithWeight) {
  const std::vector<float> values = normal_values(256 * 4, 6);
  for (DType dtype : {DType::kQ3_K, DType::kQ4_K, DType::kIQ4_XS, DType::kIQ3_S, DType::kIQ2_XS}) {
    std::vector<float> weights(values.size(), 1e-3f);
    for (std::size_t i = 17; i < weights.size(); i += 256) weights[i] = 1.0f;
    const auto decoded = decode(dtype, encode(dtype, values, weights));
    for (std::size_t i = 17; i < weights.size(); i += 256) {
      EXPECT_NEAR(decoded[i], values[i], 0.05f * std::abs(values[i]) + 0.02f) << to_string(dtype);
    }
  }
}

TEST(Encoders, RelativeErrorDoesNotDependOnThePowerOfTwo) {
  // A power of two changes nothing but the scales, as long as F16 holds them.
  const std::vector<float> values = normal_values(1024, 7);
  std::vector<float> larger = values;
  for (float& value : larger) value *= 16.0f;
  for (const DTypeTrait& type : dtypes()) {
    if (!type.quantized || (type.encode == nullptr && !type.needs_weights())) continue;
    const auto decoded = decode(type.dtype, encode(type.dtype, values));
    const double error = relative_error(values, decoded, {});
    const double error_larger =
        relative_error(larger, decode(type.dtype, encode(type.dtype, larger)), {});
    EXPECT_NEAR(error_larger, error, 0.03 * error) << type.name;
  }
}

/// All below zero, and far from it: minimums take that up.
TEST(Encoders, RepresentValuesFarFromZeroByTheirMinimum) {
  std::vector<float> values = normal_values(1024, 8);
  for (float& value : values) value -= 1000.0f;
  for (DType dtype : {DType::kQ2_K, DType::kQ4_K, DType::kQ5_K}) {
    const auto decoded = decode(dtype, encode(dtype, values));
    double error = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      error += std::pow(static_cast<double>(decoded[i]) - values[i], 2) / 1024;
    }
    // A single level would leave 1, and a scale without minimum much more.
    EXPECT_LE(std::sqrt(error), dtype == DType::kQ2_K ? 0.5 : 0.2) << to_string(dtype);
  }
}

/// As weights of two values have it: levels are found that fit exactly.
TEST(Encoders, RepresentValuesOfOneMagnitude) {
  std::vector<float> values = normal_values(1024, 9);
  for (float& value : values) value = value < 0 ? -0.37f : 0.37f;
  for (DType dtype : {DType::kQ2_K, DType::kQ3_K, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K,
                      DType::kIQ3_S, DType::kIQ2_S}) {
    const auto decoded = decode(dtype, encode(dtype, values));
    EXPECT_LE(std::sqrt(relative_error(values, decoded, {})), 0.002) << to_string(dtype);
  }
}

/// One value all over, as weights of norms have it: held but for rounding to F16.
TEST(Encoders, RepresentAConstantBlock) {
  for (const float value : {1.0f, -1.0f, 0.37f, -2000.0f}) {
    const std::vector<float> values(256, value);
    for (const DTypeTrait& type : dtypes()) {
      if (type.encode_weighted == nullptr || type.dtype == DType::kMXFP4) continue;
      const auto decoded = decode(type.dtype, encode(type.dtype, values));
      EXPECT_LE(std::sqrt(relative_error(values, decoded, {})), 0.001) << type.name << " " << value;
    }
  }
}

// ---- Parts of the search, against trying everything ----

TEST(ScaleSearch, FindsNearlyTheBestScale) {
  constexpr int kN = 16;
  using Levels = formats::IntegerLevels<-4, 3>;
  constexpr formats::Scan kScan = {.from = 1.5f, .step = 0.1f, .count = 35};
  double found = 0;
  double best = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    const auto x = normal_values(kN, 100 + seed);
    const auto w = wide_weights(kN, 200 + seed);
    const auto error_at = [&](double scale) {
      double error = 0;
      for (std::size_t i = 0; i < kN; ++i) {
        const double q = scale == 0 ? 0 : std::clamp(std::nearbyint(x[i] / scale), -4.0, 3.0);
        error += static_cast<double>(w[i]) * std::pow(x[i] - q * scale, 2);
      }
      return error;
    };
    float top = 0;
    for (float value : x) top = std::max(top, std::abs(value));
    found += error_at(formats::best_scale(top, kScan, [&](float scale) {
      return formats::sums_at<Levels, kN>(x.data(), w.data(), scale);
    }));
    double least = error_at(0);
    for (int i = 1; i <= 4000; ++i) {
      least = std::min({least, error_at(top * i / 4000.0), error_at(-top * i / 4000.0)});
    }
    best += least;
  }
  EXPECT_LE(found, 1.01 * best);
}

template <std::size_t Count, std::size_t Size, std::size_t Levels>
void expect_nearest(const formats::Codebook<Count, Size>& vectors,
                    const std::int8_t (&levels)[Levels], float deviation) {
  const formats::CodebookSearch search(vectors, levels);
  for (const bool weighted : {false, true}) {
    double found = 0;
    double best = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
      auto x = normal_values(Size, seed);
      for (float& value : x) {
        value = levels[0] < 0 ? value * deviation : std::abs(value) * deviation;
      }
      const auto w = weighted ? wide_weights(Size, 1000 + seed) : std::vector<float>(Size, 1.0f);
      const auto distance = [&](std::size_t index) {
        double sum = 0;
        for (std::size_t i = 0; i < Size; ++i) {
          sum += static_cast<double>(w[i]) * std::pow(x[i] - vectors[index][i], 2);
        }
        return sum;
      };
      found += distance(search.nearest(x.data(), w.data()));
      double least = distance(0);
      for (std::size_t i = 1; i < Count; ++i) least = std::min(least, distance(i));
      best += least;
    }
    EXPECT_LE(found, (weighted ? 1.03 : 1.01) * best) << Count << " vectors of " << Size;
  }
}

TEST(CodebookSearch, FindsTheNearestVectorAlmostAlways) {
  using namespace formats;
  expect_nearest(kIq3SVectors, kIq3SLevels, 6.0f);
  expect_nearest(kIq3XxsVectors, kIq3XxsLevels, 24.0f);
  expect_nearest(kIq2XxsVectors, kIq2Levels, 20.0f);
  expect_nearest(kIq2XsVectors, kIq2Levels, 20.0f);
  expect_nearest(kIq2SVectors, kIq2Levels, 20.0f);
  expect_nearest(kIq1Vectors, kIq1Levels, 0.8f);
}

TEST(CodebookSearch, FindsEveryCodebookVectorItself) {
  const formats::CodebookSearch search(formats::kIq2XsVectors, formats::kIq2Levels);
  const std::vector<float> w(8, 1.0f);
  for (std::size_t i = 0; i < formats::kIq2XsVectors.size(); ++i) {
    EXPECT_EQ(search.nearest(search.vector(i).data(), w.data()), i);
  }
}

TEST(Encoders, ConcurrentThreadsMayInitializeTheCodebooks) {
  // The thread that encodes first makes the lists of neighbours.
  const std::vector<float> values = normal_values(512, 10);
  std::vector<std::vector<std::byte>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] { result = encode(DType::kIQ2_XXS, values); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

}  // namespace
}  // namespace shunt::tensor_encode_test
