#include "text/jinja/text_functions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

/// Offset of the last character of a text that is not empty.
std::size_t last_character(std::string_view text) {
  std::size_t last = text.size() - 1;
  while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0U) == 0x80U) --last;
  return last;
}

/// Whether the character at the front of `rest` is to be stripped.
bool is_stripped(std::string_view rest, const TracedText* characters) {
  if (characters == nullptr) return is_space(utf8_code_point(rest));
  return characters->view().find(rest.substr(0, utf8_size(rest))) != std::string_view::npos;
}

/// More parts of a text are larger than any limit.
constexpr std::size_t kMostParts = std::size_t{1} << 22;

using Range = std::pair<std::size_t, std::size_t>;  // begin and end

Result<std::vector<TracedText>> parts_of(const TracedText& text, const std::vector<Range>& ranges,
                                         Budget& budget) {
  SHUNT_TRY(budget.make(text.size()));
  SHUNT_TRY(budget.make(ranges.size() * sizeof(Value)));
  if (!budget.spend(ranges.size())) return budget.spent();
  std::vector<TracedText> parts;
  parts.reserve(ranges.size());
  for (const auto& [begin, end] : ranges) parts.push_back(text.part(begin, end - begin));
  return parts;
}

/// Words from the front; the last one goes on to the end of the text.
std::vector<Range> words_from_front(std::string_view view, std::int64_t most) {
  std::vector<Range> ranges;
  std::size_t i = 0;
  const auto skip = [&](bool spaces) {
    while (i < view.size() && is_space(utf8_code_point(view.substr(i))) == spaces) {
      i += utf8_size(view.substr(i));
    }
  };
  for (skip(true); i < view.size() && ranges.size() < kMostParts; skip(true)) {
    const std::size_t begin = i;
    if (most >= 0 && static_cast<std::int64_t>(ranges.size()) == most) {
      // str.split() keeps whitespace at the end of the rest.
      ranges.emplace_back(begin, view.size());
      break;
    }
    skip(false);
    ranges.emplace_back(begin, i);
  }
  return ranges;
}

/// Words from the back, the last one first.
std::vector<Range> words_from_back(std::string_view view, std::int64_t most) {
  std::vector<Range> ranges;
  std::size_t end = view.size();
  const auto skip = [&](bool spaces) {
    while (end > 0) {
      const std::size_t last = last_character(view.substr(0, end));
      if (is_space(utf8_code_point(view.substr(last))) != spaces) break;
      end = last;
    }
  };
  for (skip(true); end > 0 && ranges.size() < kMostParts; skip(true)) {
    const std::size_t stop = end;
    if (most >= 0 && static_cast<std::int64_t>(ranges.size()) == most) {
      ranges.emplace_back(0, stop);
      break;
    }
    skip(false);
    ranges.emplace_back(end, stop);
  }
  return ranges;
}

std::vector<Range> separated(std::string_view view, std::string_view separator, std::int64_t most,
                             bool from_back) {
  std::vector<Range> ranges;
  std::size_t begin = 0;
  std::size_t end = view.size();
  const std::size_t limit = most < 0 ? kMostParts : static_cast<std::size_t>(most);
  while (ranges.size() < std::min(limit, kMostParts)) {
    const std::string_view rest = view.substr(0, end);
    const std::size_t found = from_back ? rest.rfind(separator) : rest.find(separator, begin);
    if (found == std::string_view::npos) break;
    if (from_back) {
      ranges.emplace_back(found + separator.size(), end);
      end = found;
    } else {
      ranges.emplace_back(begin, found);
      begin = found + separator.size();
    }
  }
  ranges.emplace_back(begin, end);
  return ranges;
}

}  // namespace

void map_upper(char32_t c, bool, std::string& text) {
  append_upper(c, text);
}

void map_lower(char32_t c, bool, std::string& text) {
  append_lower(c, text);
}

void map_title(char32_t c, bool after_cased, std::string& text) {
  after_cased ? append_lower(c, text) : append_title(c, text);
}

void map_folded(char32_t c, bool, std::string& text) {
  std::string upper;
  append_upper(c, upper);
  if (upper.size() <= utf8_size(upper)) return append_lower(c, text);
  for (std::size_t i = 0; i < upper.size(); i += utf8_size(std::string_view(upper).substr(i))) {
    append_lower(utf8_code_point(std::string_view(upper).substr(i)), text);
  }
}

void map_swapped(char32_t c, bool, std::string& text) {
  is_upper(c) ? append_lower(c, text) : append_upper(c, text);
}

TracedText map_characters(const TracedText& text, CharacterMap map) {
  TracedText result;
  bool after_cased = false;
  for (const TracedText::Piece& piece : text.pieces()) {
    std::string mapped;
    for (std::size_t i = 0; i < piece.bytes.size(); i += utf8_size(piece.bytes.substr(i))) {
      const char32_t c = utf8_code_point(piece.bytes.substr(i));
      map(c, after_cased, mapped);
      after_cased = is_upper(c) || is_lower(c);
    }
    result.append(mapped, piece.from_template);
  }
  return result;
}

TracedText capitalize(const TracedText& text) {
  if (text.empty()) return text;
  const std::size_t first = utf8_size(text.view());
  TracedText result = map_characters(text.part(0, first), map_title);
  result.append(map_characters(text.part(first, text.size() - first), map_lower));
  return result;
}

TracedText strip(const TracedText& text, const TracedText* characters, Sides sides) {
  const std::string_view view = text.view();
  std::size_t begin = 0;
  std::size_t end = view.size();
  while (sides.left && begin < end && is_stripped(view.substr(begin), characters)) {
    begin += utf8_size(view.substr(begin));
  }
  while (sides.right && begin < end) {
    const std::size_t last = last_character(view.substr(0, end));
    if (!is_stripped(view.substr(last), characters)) break;
    end = last;
  }
  return text.part(begin, end - begin);
}

Result<std::vector<TracedText>> split(const TracedText& text, const TracedText* separator,
                                      const SplitOptions& options, Budget& budget) {
  const auto [most, from_back] = options;
  std::vector<Range> ranges;
  if (separator != nullptr) {
    ranges = separated(text.view(), separator->view(), most, from_back);
  } else {
    ranges = from_back ? words_from_back(text.view(), most) : words_from_front(text.view(), most);
  }
  if (from_back) std::reverse(ranges.begin(), ranges.end());
  return parts_of(text, ranges, budget);
}

Result<std::vector<TracedText>> split_lines(const TracedText& text, bool keep_ends,
                                            Budget& budget) {
  const std::string_view view = text.view();
  std::vector<Range> ranges;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < view.size() && ranges.size() < kMostParts;) {
    const std::size_t size = utf8_size(view.substr(i));
    if (!is_line_end(utf8_code_point(view.substr(i)))) {
      i += size;
      continue;
    }
    const std::size_t end = i;
    i += view.substr(i).starts_with("\r\n") ? 2 : size;
    ranges.emplace_back(begin, keep_ends ? i : end);
    begin = i;
  }
  if (begin < view.size()) ranges.emplace_back(begin, view.size());
  return parts_of(text, ranges, budget);
}

Result<TracedText> replace(const TracedText& text, const TracedText& old, const TracedText& by,
                           std::int64_t most, Budget& budget) {
  const std::string_view view = text.view();
  SHUNT_TRY(budget.make(text.size()));
  TracedText result;
  std::size_t copied = 0;
  std::size_t at = 0;
  for (std::int64_t count = 0; (most < 0 || count < most) && at <= view.size(); ++count) {
    at = view.find(old.view(), at);
    if (at == std::string_view::npos) break;
    result.append(text, copied, at - copied);
    result.append(by);
    SHUNT_TRY(budget.make(by.size() + result.size() / 1024));
    copied = at + old.size();
    at = copied;
    // An empty text is found between all characters.
    if (old.empty()) at += at < view.size() ? utf8_size(view.substr(at)) : 1;
  }
  if (copied < view.size()) result.append(text, copied, view.size() - copied);
  SHUNT_TRY(budget.make(result.size()));
  return result;
}

Result<TracedText> pad(const TracedText& text, std::int64_t left, std::int64_t right,
                       std::string_view fill, Budget& budget) {
  const auto copies = [&](std::int64_t count) -> Result<std::string> {
    std::string filled;
    SHUNT_TRY(budget.make(static_cast<std::size_t>(std::max<std::int64_t>(count, 0))));
    for (std::int64_t i = 0; i < count; ++i) filled += fill;
    return filled;
  };
  SHUNT_ASSIGN(const std::string before, copies(left));
  SHUNT_ASSIGN(const std::string behind, copies(right));
  SHUNT_TRY(budget.make(before.size() + text.size() + behind.size()));
  TracedText result;
  result.append(before, true);
  result.append(text);
  result.append(behind, true);
  return result;
}

Result<TracedText> center(const TracedText& text, std::int64_t width, std::string_view fill,
                          Budget& budget) {
  const std::int64_t missing = std::max<std::int64_t>(width, 0) - count_characters(text.view());
  if (missing <= 0) return text;
  const std::int64_t left = missing / 2 + (missing & width & 1);
  return pad(text, left, missing - left, fill, budget);
}

Result<Value> make_text_list(std::vector<TracedText> texts, Sequence::Kind kind) {
  std::vector<Value> values;
  values.reserve(texts.size());
  for (TracedText& text : texts) values.push_back(Value::text(std::move(text)));
  return make_sequence(std::move(values), kind);
}

}  // namespace shunt::text::jinja
