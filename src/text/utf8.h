// UTF-8, a character at a time: well-formed, ill-formed, or not all there yet.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shunt::text {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

struct Utf8Step {
  enum class Kind : unsigned char {
    kCharacter,   ///< `size` bytes are a character
    kIllFormed,   ///< `size` bytes are a maximal subpart of an ill-formed sequence
    kIncomplete,  ///< all bytes are the start of a character
  };
  Kind kind;
  std::size_t size;
};

/// The step at the start of `bytes`, which must not be empty.
Utf8Step utf8_step(std::string_view bytes);

bool is_valid_utf8(std::string_view bytes);

/// Moves all that is decided from the front of `pending` to the end of `text`, ill-formed parts as
/// U+FFFD. The start of a character, of at most 3 bytes, may stay.
void take_complete_utf8(std::string& pending, std::string& text);

/// Number of bytes of the character at the front of well-formed, non-empty `text`.
std::size_t utf8_size(std::string_view text);

/// The code point of the character at the front of well-formed, non-empty `text`.
char32_t utf8_code_point(std::string_view text);

/// Appends a code point, which must be one of a character, as UTF-8.
void append_utf8(char32_t code_point, std::string& text);

}  // namespace shunt::text
