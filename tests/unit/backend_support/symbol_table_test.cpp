// Symbol rows: functions bound by name into a struct.
#include "backend_support/symbol_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
