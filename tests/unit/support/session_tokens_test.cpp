// The difference of results, which tests compare with a tolerance.
#include "support/session_tokens.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace shunt::test::support_session_tokens_test {
namespace {

TEST(Difference, IsTheLargest) {
  EXPECT_EQ(difference(std::vector<float>{1, 5, 2}, std::vector<float>{1, 2, 3}), 3);
  EXPECT_EQ(difference(std::vector<float>{}, std::vector<float>{}), 0);
}

TEST(Difference, IsNotANumberWhereverANumberIsNone) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> numbers = {1, 2, 3};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::vector<float> other = numbers;
    other[i] = kNone;
    EXPECT_TRUE(std::isnan(difference(other, numbers))) << i;
    EXPECT_TRUE(std::isnan(difference(numbers, other))) << i;
  }
}

}  // namespace
}  // namespace shunt::test::support_session_tokens_test
