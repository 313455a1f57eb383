#include "text/jinja/source.h"

#include <algorithm>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/unicode.h"

namespace shunt::text::jinja {

Source::Source(std::string_view text) {
  text_.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') {
      text_ += '\n';
      if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
    } else {
      text_ += text[i];
    }
  }
  if (text_.ends_with('\n')) text_.pop_back();
}

Error Source::locate(std::size_t offset, Error error) const {
  const std::string_view before = text().substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin = before.rfind('\n') + 1;  // 0 if there is none
  const std::int64_t column = count_characters(before.substr(line_begin));
  return std::move(error).with_context(
      fmt::format("chat template, line {}, column {}", lines + 1, column + 1));
}

}  // namespace shunt::text::jinja
