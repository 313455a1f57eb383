// Whole texts in files that a flag names, and on standard input.
#pragma once

#include <cstddef>
#include <string>

#include "shunt/error.h"

namespace shunt::cli {

/// All of a file that is no longer than `most` bytes. NotFound, Io, or BadFile if it is.
Result<std::string> read_whole_file(const std::string& path, std::size_t most);
/// The same for standard input. Prints `waiting` if no data comes for a second.
Result<std::string> read_standard_input(std::size_t most, const std::string& waiting);

}  // namespace shunt::cli
