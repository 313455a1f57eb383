// Escaping of text for HTML pages.
#pragma once

#include <string>
#include <string_view>

namespace shunt::cli {

/// For element contents and attribute values: markup becomes references, control characters become
/// U+FFFD.
inline std::string escape_html(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (c == '\'') {
      escaped += "&#39;";
    } else if ((byte < 0x20 && c != '\n') || byte == 0x7f) {
      escaped += "&#65533;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace shunt::cli
