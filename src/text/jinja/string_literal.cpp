#include "text/jinja/string_literal.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/unicode.h"

namespace shunt::text::jinja {
namespace {

constexpr std::array<std::pair<char, std::string_view>, 11> kSimpleEscapes = {{
    {'\n', ""},
    {'\\', "\\"},
    {'\'', "'"},
    {'"', "\""},
    {'a', "\a"},
    {'b', "\b"},
    {'f', "\f"},
    {'n', "\n"},
    {'r', "\r"},
    {'t', "\t"},
    {'v', "\v"},
}};

/// Number of hexadecimal digits behind \x, \u and \U; 0 for others.
std::size_t digits_behind(char letter) {
  return letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
}

Result<char32_t> code_point_of(std::string_view digits, std::size_t wanted, int base) {
  std::uint32_t code = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), code, base);
  const bool complete =
      error == std::errc() && end == digits.data() + digits.size() && digits.size() == wanted;
  if (!complete || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
    return invalid("the escape with \"{}\" in a string is no character", digits);
  }
  return static_cast<char32_t>(code);
}

}  // namespace

Result<std::string> unescape(std::string_view literal) {
  std::string text;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      text += literal[i];
      continue;
    }
    const char letter = literal[++i];
    if (const std::size_t count = digits_behind(letter); count > 0) {
      const std::string_view digits = literal.substr(i + 1, count);
      SHUNT_ASSIGN(const char32_t code, code_point_of(digits, count, 16));
      append_utf8(code, text);
      i += count;
    } else if (letter >= '0' && letter <= '7') {
      std::size_t size = 1;
      while (size < 3 && i + size < literal.size() && literal[i + size] >= '0' &&
             literal[i + size] <= '7') {
        ++size;
      }
      SHUNT_ASSIGN(const char32_t code, code_point_of(literal.substr(i, size), size, 8));
      append_utf8(code, text);
      i += size - 1;
    } else if (letter == 'N') {
      return invalid("names of characters (\\N) in strings are not supported");
    } else {
      const auto* found = kSimpleEscapes.begin();
      while (found != kSimpleEscapes.end() && found->first != letter) ++found;
      if (found != kSimpleEscapes.end()) {
        text += found->second;
      } else {
        text += '\\';
        text += letter;
      }
    }
  }
  return text;
}

}  // namespace shunt::text::jinja
