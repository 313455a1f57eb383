#include "text/jinja/links.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

/// \w of Python's regular expressions.
bool is_name_character(char32_t c) {
  return is_alphanumeric(c) || c == '_';
}

/// The small letter of ASCII that Python takes a character for, if case does not count: four
/// characters beyond ASCII are letters then, too.
char32_t small_letter(char32_t c) {
  switch (c) {
    case 0x130:
    case 0x131:
      return 'i';
    case 0x17F:
      return 's';
    case 0x212A:
      return 'k';
    default:
      return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
  }
}

bool is_ascii_letter(char32_t c) {
  const char32_t small = small_letter(c);
  return small >= 'a' && small <= 'z';
}

bool is_label_character(char32_t c) {
  return is_name_character(c) || c == '%' || c == '-';
}

/// Takes characters off the front of `text` while `holds`; their number.
template <class Holds>
std::int64_t take_while(std::string_view& text, Holds holds) {
  std::int64_t count = 0;
  for (; !text.empty() && holds(utf8_code_point(text)); ++count)
    text.remove_prefix(utf8_size(text));
  return count;
}

template <class Holds>
bool all_hold(std::string_view text, Holds holds) {
  take_while(text, holds);
  return text.empty();
}

/// Takes `words`, in small letters, off the front of `text`, whatever its case.
bool take_words(std::string_view& text, std::string_view words) {
  std::string_view rest = text;
  for (const char each : words) {
    if (rest.empty() || small_letter(utf8_code_point(rest)) != static_cast<unsigned char>(each))
      return false;
    rest.remove_prefix(utf8_size(rest));
  }
  text = rest;
  return true;
}

/// The part before the last dot, with it, and the part behind it.
struct DomainName {
  std::string_view labels, last;
};
DomainName divided(std::string_view host) {
  const std::size_t dot = host.rfind('.');
  const std::size_t size = dot == std::string_view::npos ? 0 : dot + 1;
  return {host.substr(0, size), host.substr(size)};
}

/// "a.b." of labels with `fewest` to `most` characters; empty, too.
bool are_labels(std::string_view labels, std::int64_t fewest, std::int64_t most) {
  while (!labels.empty()) {
    const std::int64_t count = take_while(labels, is_label_character);
    if (count < fewest || count > most || !labels.starts_with('.')) return false;
    labels.remove_prefix(1);
  }
  return true;
}

bool is_top_level(std::string_view label) {
  std::string_view rest = label;
  const std::int64_t letters = take_while(rest, is_ascii_letter);
  if (rest.empty() && letters >= 2 && letters <= 63) return true;
  rest = label;
  if (!take_words(rest, "xn--")) return false;
  const std::int64_t count =
      take_while(rest, [](char32_t c) { return is_name_character(c) || c == '%'; });
  return rest.empty() && count >= 2 && count <= 59;
}

bool is_known_top_level(std::string_view label) {
  constexpr std::array<std::string_view, 8> kKnown = {"com", "net", "int",  "edu",
                                                      "gov", "org", "info", "mil"};
  return std::ranges::any_of(kKnown, [&](std::string_view each) {
    std::string_view rest = label;
    return take_words(rest, each) && rest.empty();
  });
}

/// Four numbers of one to three digits.
bool is_ip4(std::string_view host) {
  for (int number = 0; number < 4; ++number) {
    if (number > 0 && !host.starts_with('.')) return false;
    if (number > 0) host.remove_prefix(1);
    const std::int64_t digits = take_while(host, is_decimal_digit);
    if (digits < 1 || digits > 3) return false;
  }
  return host.empty();
}

/// Takes "[...]" off the front of `text`: two groups of up to four digits and a colon, then up to
/// six groups, whose colons may be left out.
bool take_ip6(std::string_view& text) {
  const auto is_hexadecimal = [](char32_t c) {
    const char32_t small = small_letter(c);
    return is_decimal_digit(c) || (small >= 'a' && small <= 'f');
  };
  constexpr std::int64_t kDigits = 4;
  if (!text.starts_with('[')) return false;
  text.remove_prefix(1);
  std::int64_t groups = 0;
  int run = 0;
  for (; !text.starts_with(']'); ++run) {
    const std::int64_t digits = take_while(text, is_hexadecimal);
    const bool has_colon = text.starts_with(':');
    if (has_colon) text.remove_prefix(1);
    if (run < 2 && (digits > kDigits || !has_colon)) return false;
    if (run >= 2) groups += std::max<std::int64_t>((digits + kDigits - 1) / kDigits, 1);
    if (groups > 6 || (!has_colon && !text.starts_with(']'))) return false;
  }
  text.remove_prefix(1);
  return run >= 2;
}

/// A port, a path, a query or a fragment; none of them, too.
bool is_behind_host(std::string_view text) {
  if (text.starts_with(':')) {
    text.remove_prefix(1);
    const std::int64_t digits = take_while(text, is_decimal_digit);
    if (digits < 1 || digits > 5) return false;
  }
  return text.empty() || std::string_view("/?#").find(text.front()) != std::string_view::npos;
}

}  // namespace

bool is_web_address(std::string_view text) {
  std::string_view rest = text;
  const bool has_scheme = take_words(rest, "http://") || take_words(rest, "https://");
  std::string_view address = rest;
  if (has_scheme && take_ip6(address)) return is_behind_host(address);
  std::string_view behind_www = rest;
  const bool has_www = !has_scheme && take_words(behind_www, "www.");
  const std::string_view host = rest.substr(0, rest.find_first_of(":/?#"));
  if (!is_behind_host(rest.substr(host.size()))) return false;
  if (has_scheme && is_ip4(host)) return true;
  const DomainName name = divided(host);
  if (has_scheme) return are_labels(name.labels, 1, INT64_MAX) && is_top_level(name.last);
  if (has_www) {
    const auto size = static_cast<std::size_t>(rest.size() - behind_www.size());
    const DomainName behind = divided(host.substr(size));
    if (are_labels(behind.labels, 1, INT64_MAX) && is_top_level(behind.last)) return true;
  }
  return !name.labels.empty() && are_labels(name.labels, 2, 63) && is_known_top_level(name.last);
}

bool is_mail_address(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos || at == 0) return false;
  const DomainName name = divided(text.substr(at + 1));
  const auto is_part = [](char32_t c) { return is_name_character(c) || c == '.' || c == '-'; };
  return name.labels.size() > 1 && is_name_character(utf8_code_point(name.labels)) &&
         all_hold(name.labels, is_part) && !name.last.empty() &&
         all_hold(name.last, is_name_character);
}

bool is_scheme(std::string_view text) {
  const auto is_part = [](char32_t c) {
    return is_name_character(c) || c == '.' || c == '+' || c == '-';
  };
  const std::int64_t count = take_while(text, is_part);
  return count >= 2 && (text == ":" || text == ":/" || text == "://");
}

}  // namespace shunt::text::jinja
