// The lines of a text, each of which is a text of its own.
#pragma once

#include <string>
#include <vector>

namespace shunt::cli {

/// Those that are not empty, without line ends of either kind.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace shunt::cli
