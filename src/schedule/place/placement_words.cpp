#include "schedule/place/placement_words.h"

#include <algorithm>
#include <charconv>

#include "shunt/message.h"

namespace shunt {

namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-/:+").find(c) != std::string_view::npos;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/// Takes the rest of a quoted word, whose first quote is gone, from the front of `line`.
Result<std::string> take_quoted(std::string_view& line) {
  std::string text;
  while (!line.empty()) {
    const char c = line.front();
    line.remove_prefix(1);
    if (c == '"') return text;
    if (c != '\\') {
      text += c;
      continue;
    }
    const char kind = line.empty() ? '\0' : line.front();
    if (kind == '"' || kind == '\\') {
      text += kind;
      line.remove_prefix(1);
      continue;
    }
    unsigned char byte = 0;
    const bool is_byte =
        kind == 'x' && line.size() >= 3 &&
        std::from_chars(line.data() + 1, line.data() + 3, byte, 16).ptr == line.data() + 3;
    if (!is_byte) return invalid("in quotes, a backslash needs a quote, a backslash or xNN");
    text += static_cast<char>(byte);
    line.remove_prefix(3);
  }
  return invalid("a quoted word does not end");
}

}  // namespace

std::string quote_word(std::string_view text) {
  if (!text.empty() && text != "-" && std::all_of(text.begin(), text.end(), is_plain)) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c >= ' ' && c < 0x7f) {
      quoted += c;
    } else {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return quoted + '"';
}

Result<std::vector<Word>> split_words(std::string_view line) {
  std::vector<Word> words;
  while (true) {
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    if (line.empty() || line.front() == '#') return words;
    Word word;
    if (line.front() == '"') {
      line.remove_prefix(1);
      SHUNT_ASSIGN(word.text, take_quoted(line));
      word.quoted = true;
      if (!line.empty() && !is_blank(line.front()) && line.front() != '#') {
        return invalid("a blank must stand behind a quoted word");
      }
    } else {
      const auto end = std::find_if(line.begin(), line.end(), is_blank);
      word.text = std::string_view(line.begin(), end);
      line.remove_prefix(word.text.size());
    }
    words.push_back(std::move(word));
  }
}

}  // namespace shunt
