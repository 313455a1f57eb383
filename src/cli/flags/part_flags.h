// The sizes of parts of a GGUF file that is written.
#pragma once

#include <optional>
#include <string>

#include "cli/flags/arguments.h"
#include "shunt/gguf_parts.h"

namespace shunt::cli {

/// `--split SIZE`, of commands that write a file or parts of one.
void declare_split(Arguments& arguments, std::optional<gguf::PartLimits>& parts);
/// A size of parts: "4GiB". Invalid for 0.
Result<std::uint64_t> parse_part_size(const std::string& text);

}  // namespace shunt::cli
