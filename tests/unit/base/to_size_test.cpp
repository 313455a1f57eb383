// Numbers as sizes.
#include "base/to_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "base/guarded.h"

namespace shunt::test::base_to_size_test {
namespace {

using ::testing::HasSubstr;

TEST(ToSize, KeepsTheNumber) {
  EXPECT_EQ(to_size(0), 0U);
  EXPECT_EQ(to_size(7), 7U);
  EXPECT_EQ(to_size(std::int8_t{127}), 127U);
  EXPECT_EQ(to_size(std::numeric_limits<std::int64_t>::max()), 9'223'372'036'854'775'807U);
  EXPECT_EQ(to_size(std::numeric_limits<std::uint64_t>::max()), 18'446'744'073'709'551'615U);
  static_assert(to_size(3) == 3);
  static_assert(to_size(std::uint8_t{200}) == 200);
  static_assert(std::is_same_v<decltype(to_size(3)), std::size_t>);
}

TEST(ToSize, RefusesANegativeNumber) {
  EXPECT_THROW((void)to_size(-1), std::length_error);
  EXPECT_THROW((void)to_size(std::int8_t{-128}), std::length_error);
  EXPECT_THROW((void)to_size(std::numeric_limits<std::int64_t>::min()), std::length_error);
}

TEST(ToSize, GuardedReturnsAnErrorWithTheNumber) {
  const std::int64_t number = -5;
  const auto size = guarded([&]() -> Result<std::size_t> { return to_size(number); });
  ASSERT_FALSE(size);
  EXPECT_EQ(size.error().code(), ErrorCode::kInternal);
  EXPECT_THAT(size.error().message(), HasSubstr("-5"));
}

}  // namespace
}  // namespace shunt::test::base_to_size_test
