// Functions of texts that filters and methods share. Every character keeps its origin.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/error.h"
#include "text/jinja/traced_text.h"
#include "text/jinja/value.h"

namespace shunt::text::jinja {

/// Appends a character in another case. `after_cased`: whether the character before it has case.
using CharacterMap = void (*)(char32_t c, bool after_cased, std::string& text);
TracedText map_characters(const TracedText& text, CharacterMap map);
void map_upper(char32_t c, bool after_cased, std::string& text);
void map_lower(char32_t c, bool after_cased, std::string& text);
void map_title(char32_t c, bool after_cased, std::string& text);
/// As str.casefold(), for characters whose folded form is their upper case in lower case.
void map_folded(char32_t c, bool after_cased, std::string& text);
void map_swapped(char32_t c, bool after_cased, std::string& text);
/// The first character in upper case, the others in lower case.
TracedText capitalize(const TracedText& text);

struct Sides {
  bool left = true, right = true;
};
/// Without the characters of `characters` at its ends; null: without whitespace.
TracedText strip(const TracedText& text, const TracedText* characters, Sides sides = {});

struct SplitOptions {
  std::int64_t most = -1;  ///< number of splits; a negative one is any
  bool from_back = false;  ///< which are those at the end
};
/// Parts between whitespace (no separator), or between separators, which must not be empty.
Result<std::vector<TracedText>> split(const TracedText& text, const TracedText* separator,
                                      const SplitOptions& options, Budget& budget);
Result<std::vector<TracedText>> split_lines(const TracedText& text, bool keep_ends, Budget& budget);

/// At most `most` replacements; a negative number is any.
Result<TracedText> replace(const TracedText& text, const TracedText& old, const TracedText& by,
                           std::int64_t most, Budget& budget);

/// `left` and `right` times the character, around the text.
Result<TracedText> pad(const TracedText& text, std::int64_t left, std::int64_t right,
                       std::string_view fill, Budget& budget);
/// As Python's str.center().
Result<TracedText> center(const TracedText& text, std::int64_t width, std::string_view fill,
                          Budget& budget);

/// A list of texts.
Result<Value> make_text_list(std::vector<TracedText> texts,
                             Sequence::Kind kind = Sequence::Kind::kList);

}  // namespace shunt::text::jinja
