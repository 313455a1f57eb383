// Subtracting from each row its largest element or its mean.
#include "backend_support/level_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace shunt::test::backend_support_level_rows_test {
namespace {

using testing::ElementsAre;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(LevelRows, LargestBecomesZero) {
  std::array row = {1.0F, 4.0F, -2.0F};
  EXPECT_EQ(level(row.data(), 3, [&](std::int64_t i) { return 2.0 * row.at(std::size_t(i)); }), 8);
  EXPECT_THAT(row, ElementsAre(-6, 0, -12));
}

TEST(LevelRows, SumsBeyondF32DoNotOverflow) {
  std::array<float, 2> row = {};
  const std::array values = {6e38, 6e38 - 1e32};
  EXPECT_EQ(level(row.data(), 2, [&](std::int64_t i) { return values.at(std::size_t(i)); }), 6e38);
  EXPECT_EQ(row[0], 0);
  EXPECT_FLOAT_EQ(row[1], -1e32F);
}

TEST(LevelRows, RowWithoutFiniteMaximumIsUnchanged) {
  std::array hidden = {-kInfinity, -kInfinity};
  EXPECT_EQ(
      level(hidden.data(), 2, [&](std::int64_t i) { return double{hidden.at(std::size_t(i))}; }),
      -kInfinity);
  EXPECT_THAT(hidden, ElementsAre(-kInfinity, -kInfinity));
  std::array infinite = {kInfinity, 1.0F};
  level(infinite.data(), 2, [&](std::int64_t i) { return double{infinite.at(std::size_t(i))}; });
  EXPECT_THAT(infinite, ElementsAre(kInfinity, 1.0F));
}

TEST(LevelRows, MeanIsSubtractedInDoublePrecision) {
  std::array row = {16777216.0F, 16777218.0F, 16777220.0F};  // whose sum is no F32
  take_off_mean(row.data(), 3);
  EXPECT_THAT(row, ElementsAre(-2, 0, 2));
}

}  // namespace
}  // namespace shunt::test::backend_support_level_rows_test
