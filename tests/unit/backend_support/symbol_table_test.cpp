// Symbol rows: functions bound by name into a struct.
#include "backend_support/symbol_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace shunt::test::backend_support_symbol_table_test {
namespace {

int twice(int x) {
  return 2 * x;
}
float half(float x) {
  return x / 2;
}

struct Functions {
  int (*first)(int) = nullptr;
  float (*second)(float) = nullptr;
};

constexpr std::array kRows = {symbol<&Functions::first>("vendor_first"),
                              symbol<&Functions::second>("vendor_second", "1.1")};

Result<Functions> bound(std::string_view without, std::vector<std::string>* asked = nullptr) {
  return bind_symbols<Functions>(
      kRows,
      [&](std::string_view name) -> void* {
        if (asked != nullptr) asked->emplace_back(name);
        if (name == without) return nullptr;
        return name == "vendor_first" ? reinterpret_cast<void*>(twice)
                                      : reinterpret_cast<void*>(half);
      },
      "version 1.0 has");
}

TEST(SymbolTable, FillsEachMemberByName) {
  std::vector<std::string> asked;
  const auto functions = bound("", &asked);
  ASSERT_TRUE(functions) << functions.error().message();
  EXPECT_EQ(functions->first(3), 6);
  EXPECT_EQ(functions->second(3.0F), 1.5F);
  EXPECT_THAT(asked, testing::ElementsAre("vendor_first", "vendor_second"));
}

TEST(SymbolTable, SymbolOfALaterVersionMayBeMissing) {
  const auto functions = bound("vendor_second");
  ASSERT_TRUE(functions) << functions.error().message();
  EXPECT_NE(functions->first, nullptr);
  EXPECT_EQ(functions->second, nullptr);
}

TEST(SymbolTable, MissingFeaturesNameTheirFirstMissingFunction) {
  constexpr std::array kGroups = {symbol<&Functions::first>("vendor_map", "2.0", "memory"),
                                  symbol<&Functions::second>("vendor_unmap", "2.1", "memory"),
                                  symbol<&Functions::first>("vendor_link", "3.0", "links"),
                                  symbol<&Functions::first>("vendor_plain")};
  const auto missing = [&](std::vector<std::string_view> without) {
    std::vector<std::string> texts;
    const auto find = [&](std::string_view name) -> void* {
      return std::ranges::find(without, name) == without.end() ? reinterpret_cast<void*>(twice)
                                                               : nullptr;
    };
    for (const MissingFeature& each : missing_features<Functions>(kGroups, find))
      texts.push_back(each.to_text("the driver", "Vendor"));
    return texts;
  };
  EXPECT_THAT(missing({}), testing::IsEmpty());
  EXPECT_THAT(missing({"vendor_unmap"}),
              testing::ElementsAre("no memory: the driver lacks vendor_unmap (Vendor 2.1)"));
  EXPECT_THAT(missing({"vendor_map", "vendor_unmap", "vendor_link", "vendor_plain"}),
              testing::ElementsAre("no memory: the driver lacks vendor_map (Vendor 2.0)",
                                   "no links: the driver lacks vendor_link (Vendor 3.0)"));
}

TEST(SymbolTable, MissingRequiredSymbolIsAnErrorThatNamesIt) {
  const auto functions = bound("vendor_first");
  ASSERT_FALSE(functions);
  EXPECT_EQ(functions.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(functions.error().message(), "it has no vendor_first, which version 1.0 has");
}

TEST(SymbolTable, NamesAMember) {
  constexpr std::span<const SymbolRow<Functions>> kAll = kRows;
  EXPECT_STREQ(name_of<&Functions::first>(kAll), "vendor_first");
  EXPECT_STREQ(name_of<&Functions::second>(kAll), "vendor_second");
  EXPECT_STREQ(name_of<&Functions::second>(kAll.first(1)), "") << "the table lacks it";
}

}  // namespace
}  // namespace shunt::test::backend_support_symbol_table_test
