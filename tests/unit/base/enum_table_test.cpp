// Tables by enumerator.
#include "base/enum_table.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace shunt::test::base_enum_table_test {
namespace {

enum class Colour : std::uint8_t { kRed, kGreen, kBlue };

constexpr std::array<std::string_view, 3> kNames = {"red", "green", "blue"};

TEST(EnumTable, FindsARowByItsEnumerator) {
  EXPECT_EQ(to_index(Colour::kBlue), 2U);
  EXPECT_EQ(name_in(kNames, Colour::kRed), "red");
  EXPECT_EQ(name_in(kNames, Colour::kBlue), "blue");
}

TEST(EnumTable, ValueOutsideTheTableHasTheFallbackName) {
  EXPECT_EQ(name_in(kNames, static_cast<Colour>(3)), "unknown");
  EXPECT_EQ(name_in(kNames, static_cast<Colour>(255), "another"), "another");
}

}  // namespace
}  // namespace shunt::test::base_enum_table_test
