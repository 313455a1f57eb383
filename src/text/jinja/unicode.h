// Characters as Python's str methods see them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::text::jinja {

bool is_space(char32_t c);
/// A line ends behind this character (str.splitlines).
bool is_line_end(char32_t c);
bool is_digit(char32_t c);  ///< of ASCII
// As str.isalpha(), isdecimal(), isdigit(), isnumeric() and isalnum() of one character.
bool is_letter(char32_t c);
bool is_decimal_digit(char32_t c);
bool is_any_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_alphanumeric(char32_t c);
/// False for control, format, separator, private-use and unassigned characters, except the space.
bool is_printable(char32_t c);

bool is_upper(char32_t c);
bool is_lower(char32_t c);
// Append the character in another case: one character, or several, as "SS".
void append_upper(char32_t c, std::string& text);
void append_lower(char32_t c, std::string& text);
/// As at the start of a word: "Ss".
void append_title(char32_t c, std::string& text);

void append_utf8(char32_t c, std::string& text);

/// Number of characters of valid UTF-8.
std::int64_t count_characters(std::string_view text);
/// Offset of the character with number `index`; the size of the text if there are fewer.
std::size_t offset_of_character(std::string_view text, std::int64_t index);

}  // namespace shunt::text::jinja
