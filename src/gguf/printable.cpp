#include "shunt/gguf.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

namespace shunt::gguf {
namespace {

/// Bytes of the UTF-8 character at the start of `text`, and which it is; 0 bytes if it is broken.
struct Character {
  std::size_t bytes = 0;
  std::uint32_t code = 0;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {1, lead};
  if (lead < 0xc2 || lead > 0xf4) return {};
  const std::size_t bytes = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (text.size() < bytes) return {};
  std::uint32_t code = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  // Longer than need be, half of a surrogate pair, or past the last code point.
  static constexpr std::uint32_t kLowest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLowest[bytes] || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return {};
  return {bytes, code};
}

bool is_printable(std::uint32_t code) {
  if (code < 0x20 || code == '\'' || code == '\\') return false;
  if (code >= 0x7f && code < 0xa0) return false;
  // Invisible, line breaking or turning the direction of the text around it.
  const bool format = (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                      (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
  return !format;
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string result = "'";
  std::size_t at = 0;
  while (at < text.size()) {
    const Character character = first_character(text.substr(at));
    const std::size_t bytes = character.bytes > 0 ? character.bytes : 1;
    if (at + bytes > max_bytes) break;
    if (character.bytes > 0 && is_printable(character.code)) {
      result += text.substr(at, bytes);
    } else {
      for (const char c : text.substr(at, bytes)) {
        fmt::format_to(std::back_inserter(result), "\\x{:02x}", static_cast<std::uint8_t>(c));
      }
    }
    at += bytes;
  }
  return result + (at < text.size() ? "'..." : "'");
}

}  // namespace shunt::gguf
