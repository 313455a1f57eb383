// Whole texts in files that a flag names.
#pragma once

#include <cstddef>
#include <string>

#include "shunt/error.h"

namespace shunt::cli {

/// All of a file that is no longer than `most` bytes. NotFound, Io, or BadFile if it is.
Result<std::string> read_whole_file(const std::string& path, std::size_t most);

}  // namespace shunt::cli
