// The table of docs/reference/formats.md agrees with the trait of every type.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "shunt/tensor.h"
#include "support/markdown.h"
#include "support/shared.h"
#include "test_paths.h"

namespace shunt::tensor_documentation_test {
namespace {

TEST(FormatsPage, ListsEveryTypeWithItsTraits) {
  constexpr std::size_t kCells = 8;
  std::map<std::string, std::vector<std::string>> rows;
  std::istringstream page(test::read_file(SHUNT_TEST_DOCS "/reference/formats.md"));
  for (std::string line; std::getline(page, line);) {
    const auto cells = test::table_cells(line);
    if (cells.size() != kCells || cells[0] == "type" || cells[0] == "---") continue;
    EXPECT_TRUE(rows.emplace(cells[0], cells).second) << cells[0] << " is there twice";
  }
  for (const DTypeTrait& type : dtypes()) {
    const std::string name(type.name);
    const auto row = rows.find(name);
    ASSERT_NE(row, rows.end()) << name << " is missing";
    const double bits =
        8 * static_cast<double>(type.block_bytes) / static_cast<double>(type.block_elements);
    const std::string_view made = type.encode != nullptr ? "yes"
                                  : type.needs_weights() ? "with an importance matrix"
                                                         : "no";
    EXPECT_EQ(row->second[1], fmt::format("{}", static_cast<int>(type.dtype))) << name;
    EXPECT_EQ(row->second[2], fmt::format("{}", bits)) << name;
    EXPECT_EQ(row->second[3], fmt::format("{}", type.block_elements)) << name;
    EXPECT_EQ(row->second[4], fmt::format("{}", type.block_bytes)) << name;
    EXPECT_EQ(row->second[6], type.largest > 0 ? fmt::format("{:.3g}", type.largest) : "-") << name;
    EXPECT_EQ(row->second[7], made) << name;
    rows.erase(row);
  }
  for (const auto& [name, cells] : rows) ADD_FAILURE() << "there is no type " << name;
}

}  // namespace
}  // namespace shunt::tensor_documentation_test
