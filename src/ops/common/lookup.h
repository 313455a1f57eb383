// Families whose ops differ by a row of a table.
#pragma once

#include <cstddef>
#include <string_view>

namespace shunt {

/// The number of the row with a name. That there is none is an error of compiling.
template <class Rows>
consteval std::size_t row_named(const Rows& rows, std::string_view name) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].name == name) return i;
  }
  throw "no row has that name";
}

}  // namespace shunt
