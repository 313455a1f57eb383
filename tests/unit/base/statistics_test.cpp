// Medians and agreement, with numbers worked out by hand.
#include "shunt/statistics.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace shunt::test::base_statistics_test {
namespace {

void expect_summary(const std::vector<double>& numbers, double median, double low, double high) {
  const Summary summary = summarize(numbers);
  EXPECT_DOUBLE_EQ(summary.median, median);
  EXPECT_DOUBLE_EQ(summary.low, low);
  EXPECT_DOUBLE_EQ(summary.high, high);
}

TEST(Statistics, MedianIsTheMiddleOrTheMeanOfTheMiddleTwo) {
  expect_summary({7}, 7, 7, 7);
  expect_summary({9, 1, 2}, 2, 1, 9);
  expect_summary({8, 1, 2, 5}, 3.5, 1, 8);
  expect_summary({3, 3, 3, 100, 1}, 3, 1, 100);
}

TEST(Statistics, EmptySummaryIsZero) {
  expect_summary({}, 0, 0, 0);
}

TEST(Statistics, NumbersAgreeWithinAFractionOfTheLarger) {
  EXPECT_TRUE(agree(100, 90, 0.1));
  EXPECT_TRUE(agree(90, 100, 0.1));
  EXPECT_FALSE(agree(100, 89.9, 0.1));
  EXPECT_FALSE(agree(89.9, 100, 0.1));
  EXPECT_TRUE(agree(5, 5, 0));
}

TEST(Statistics, NonPositiveOrNaNAgreesWithNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(agree(0, 0, 0.1));
  EXPECT_FALSE(agree(-1, -1, 0.1));
  EXPECT_FALSE(agree(nan, 1, 0.1));
  EXPECT_FALSE(agree(1, nan, 0.1));
}

}  // namespace
}  // namespace shunt::test::base_statistics_test
