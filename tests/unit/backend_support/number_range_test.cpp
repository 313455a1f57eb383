// Numbers that a device's format does not have: limited, refused, counted.
#include "backend_support/number_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <thread>

namespace shunt::test::backend_support_number_range_test {
namespace {

using testing::ElementsAre;

constexpr float kLargest = 65504;  // of F16
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(NumberRange, NumbersInRangeStay) {
  std::array values = {0.0F, -kLargest, kLargest, 1e-30F};
  EXPECT_EQ(range_of(values, kLargest, true), NumberRange::kInside);
  EXPECT_EQ(range_of(values, kLargest, false), NumberRange::kInside);
  EXPECT_THAT(values, ElementsAre(0.0F, -kLargest, kLargest, 1e-30F));
}

TEST(NumberRange, SaturationClampsFiniteNumbersOutOfRange) {
  std::array values = {65520.0F, 1.0F, -3e38F};
  EXPECT_EQ(range_of(values, kLargest, true), NumberRange::kSaturated);
  EXPECT_THAT(values, ElementsAre(kLargest, 1.0F, -kLargest));
}

TEST(NumberRange, WithoutSaturationNumbersOutOfRangeStay) {
  std::array values = {1.0F, 65520.0F};
  EXPECT_EQ(range_of(values, kLargest, false), NumberRange::kBeyond);
  EXPECT_THAT(values, ElementsAre(1.0F, 65520.0F));
}

TEST(NumberRange, InfinitiesAndNaNAreOutOfRangeDespiteSaturation) {
  for (const float value : {kInfinity, -kInfinity, std::nanf("")}) {
    std::array values = {1e9F, value};
    EXPECT_EQ(range_of(values, kLargest, true), NumberRange::kBeyond) << value;
    EXPECT_EQ(std::isnan(values[1]), std::isnan(value));
    EXPECT_EQ(std::isinf(values[1]), std::isinf(value));
  }
}

template <class Number>
void check_limit() {
  std::array<Number, 5> values = {Number{7e4}, -Number{7e4}, Number{kInfinity}, Number{NAN},
                                  Number{65504}};
  EXPECT_TRUE(limit(std::span<Number>(values), kLargest));
  EXPECT_EQ(values[0], 65504);
  EXPECT_EQ(values[1], -65504);
  EXPECT_TRUE(std::isinf(values[2]));
  EXPECT_TRUE(std::isnan(values[3]));
  EXPECT_FALSE(limit(std::span<Number>(values), kLargest)) << "nothing is left to limit";
}

TEST(NumberRange, LimitChangesFiniteNumbersOnly) {
  check_limit<float>();
  check_limit<double>();
}

TEST(NumberRange, CountsByNodeAndOutcome) {
  RangeCounts counts("F16");
  EXPECT_TRUE(counts.warnings().empty());
  counts.count("ffn (matmul)", true);
  counts.count("ffn (matmul)", true);
  counts.count("ffn (matmul)", false);
  std::vector<std::pair<std::string, std::uint64_t>> found;
  for (const DeviceWarning& each : counts.warnings()) found.emplace_back(each.text, each.count);
  EXPECT_THAT(
      found,
      testing::UnorderedElementsAre(
          std::pair("ffn (matmul) had numbers outside the range of F16, which were saturated", 2U),
          std::pair("ffn (matmul) had numbers outside the range of F16, and was computed on "
                    "the host instead",
                    1U)));
}

TEST(NumberRange, CountsOfConcurrentThreadsAddUp) {
  RangeCounts counts("F16");
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 100; ++n) counts.count("x", true);
      });
    }
  }
  ASSERT_EQ(counts.warnings().size(), 1U);
  EXPECT_EQ(counts.warnings()[0].count, 400U);
}

}  // namespace
}  // namespace shunt::test::backend_support_number_range_test
