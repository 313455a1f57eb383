// Strings that come from a file, made fit for a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shunt::gguf {

/// `text` in single quotes. Bytes that are not printable UTF-8 (control and direction characters,
/// broken sequences), quotes and backslashes are written as \xNN. Only the first `max_bytes` of the
/// text are used, and "..." stands for the rest.
std::string printable(std::string_view text, std::size_t max_bytes = 100);

}  // namespace shunt::gguf
