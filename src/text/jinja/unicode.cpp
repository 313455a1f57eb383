#include "text/jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

struct CaseRun {
  char32_t first, last;
  std::int32_t step, distance;
};
struct SpecialCase {
  char32_t character;
  std::string_view upper, title;
};
#include "text/jinja/unicode_case.inc"

struct CharacterRange {
  char32_t first, last;
};
constexpr CharacterRange kSpaces[] = {
    {0x09, 0x0D},     {0x1C, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
};
constexpr CharacterRange kLineEnds[] = {{0x0A, 0x0D}, {0x1C, 0x1E}, {0x85, 0x85}, {0x2028, 0x2029}};
#include "text/jinja/unicode_numbers.inc"

template <std::size_t N>
bool is_in(const CharacterRange (&ranges)[N], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges), [c](const CharacterRange& range) {
    return c >= range.first && c <= range.last;
  });
}

template <std::size_t N>
char32_t change_case(const CaseRun (&runs)[N], char32_t c) {
  const auto* run = std::lower_bound(std::begin(runs), std::end(runs), c,
                                     [](const CaseRun& each, char32_t x) { return each.last < x; });
  if (run == std::end(runs) || c < run->first) return c;
  if ((c - run->first) % static_cast<char32_t>(run->step) != 0) return c;
  return static_cast<char32_t>(static_cast<std::int32_t>(c) + run->distance);
}

char32_t to_upper(char32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c;
  return change_case(kToUpper, c);
}

char32_t to_lower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
  return change_case(kToLower, c);
}

/// Null if all forms of the character are one character.
const SpecialCase* find_special_case(char32_t c) {
  if (c < 0x80) return nullptr;
  const auto* found =
      std::lower_bound(std::begin(kSpecialCases), std::end(kSpecialCases), c,
                       [](const SpecialCase& each, char32_t x) { return each.character < x; });
  return found != std::end(kSpecialCases) && found->character == c ? found : nullptr;
}

utf8proc_category_t category_of(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_between(utf8proc_category_t category, utf8proc_category_t first, utf8proc_category_t last) {
  return category >= first && category <= last;
}

}  // namespace

bool is_space(char32_t c) {
  return is_in(kSpaces, c);
}

bool is_line_end(char32_t c) {
  return is_in(kLineEnds, c);
}

bool is_digit(char32_t c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char32_t c) {
  return is_between(category_of(c), UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO);
}

bool is_decimal_digit(char32_t c) {
  return category_of(c) == UTF8PROC_CATEGORY_ND;
}

bool is_any_digit(char32_t c) {
  return is_decimal_digit(c) || is_in(kOtherDigits, c);
}

bool is_numeric(char32_t c) {
  return is_between(category_of(c), UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO) ||
         is_in(kNumericLetters, c);
}

bool is_alphanumeric(char32_t c) {
  return is_letter(c) || is_numeric(c);
}

bool is_printable(char32_t c) {
  if (c == ' ') return true;
  const utf8proc_category_t category = category_of(c);
  return category != UTF8PROC_CATEGORY_CN &&
         !is_between(category, UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_CO);
}

bool is_upper(char32_t c) {
  return to_lower(c) != c || category_of(c) == UTF8PROC_CATEGORY_LU;
}

bool is_lower(char32_t c) {
  return to_upper(c) != c || category_of(c) == UTF8PROC_CATEGORY_LL;
}

void append_upper(char32_t c, std::string& text) {
  if (const SpecialCase* special = find_special_case(c)) {
    text += special->upper;
  } else {
    append_utf8(to_upper(c), text);
  }
}

void append_lower(char32_t c, std::string& text) {
  constexpr char32_t kDottedI = 0x130;
  if (c == kDottedI) {
    text += "i\xcc\x87";
  } else {
    append_utf8(to_lower(c), text);
  }
}

void append_title(char32_t c, std::string& text) {
  if (const SpecialCase* special = find_special_case(c)) {
    text += special->title;
  } else {
    append_utf8(static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))), text);
  }
}

void append_utf8(char32_t c, std::string& text) {
  const auto tail = [&](unsigned shift) {
    text += static_cast<char>(0x80 | ((c >> shift) & 0x3F));
  };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0 | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0 | (c >> 12));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0 | (c >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

std::size_t offset_of_character(std::string_view text, std::int64_t index) {
  std::size_t offset = 0;
  while (index > 0 && offset < text.size()) {
    offset += utf8_size(text.substr(offset));
    --index;
  }
  return offset;
}

}  // namespace shunt::text::jinja
