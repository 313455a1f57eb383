// Tables of the documentation, for tests that hold them against the code.
#pragma once

#include <string>
#include <vector>

namespace shunt::test {

/// The cells of a table's row, "| a | b |", without the spaces around them; empty ones are left
/// out.
std::vector<std::string> table_cells(const std::string& line);

}  // namespace shunt::test
