// Numbers with a unit, as users type them.
#pragma once

#include <cstdint>
#include <string_view>

#include "shunt/error.h"

namespace shunt::cli {

/// A share from 0 to 1: "10%", "2.5%". Invalid for anything else.
Result<double> parse_percent(std::string_view text);
/// "4096", "512KiB", "4MiB", "1.5GiB". Invalid for anything else.
Result<std::uint64_t> parse_bytes(std::string_view text);

}  // namespace shunt::cli
