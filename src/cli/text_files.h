// Whole texts in files: what a flag names instead of standard output or input.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "shunt/error.h"

namespace shunt::cli {

/// Writes all of it in place of what the file held. Io, naming the file.
Status write_file(const std::string& path, std::string_view text);
/// All of a file that is no longer than `most` bytes. NotFound, Io, or BadFile if it is.
Result<std::string> read_whole_file(const std::string& path, std::size_t most);

}  // namespace shunt::cli
