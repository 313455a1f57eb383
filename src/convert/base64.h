// Base64 (RFC 4648), as JSON has bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shunt {

/// The bytes; nothing for a text that is no base64. Padding may be missing.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace shunt
