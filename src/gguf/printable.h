// Strings that come from a file, made fit for a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shunt::gguf {

/// `text` in single quotes: what is not printable UTF-8 (control and direction characters, broken
/// sequences), quotes and backslashes as \xNN, and only the first `max_bytes` of it, "..." standing
/// for the rest.
std::string printable(std::string_view text, std::size_t max_bytes = 100);

}  // namespace shunt::gguf
