// Sizes for people.
#pragma once

#include <cstdint>
#include <string>

namespace shunt::cli {

/// "512 bytes", "1.5 MiB".
std::string format_bytes(std::uint64_t bytes);
/// "512", "1.1 billion".
std::string format_count(std::uint64_t count);

}  // namespace shunt::cli
