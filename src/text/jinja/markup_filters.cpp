// Filters of HTML: attributes of a tag, and text without tags.
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/builtin.h"
#include "text/jinja/operators.h"
#include "text/jinja/run.h"
#include "text/jinja/text_functions.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

/// Names of characters in HTML that are read. There are more, which stay as they are.
struct NamedCharacter {
  std::string_view name;
  std::string_view text;
};
constexpr std::array<NamedCharacter, 6> kNamedCharacters = {{
    {"amp", "&"},
    {"lt", "<"},
    {"gt", ">"},
    {"quot", "\""},
    {"apos", "'"},
    {"nbsp", "\xC2\xA0"},
}};

/// Without the parts from `begin` to `end`. A part that has no end stays.
TracedText without_parts(const TracedText& text, std::string_view begin, std::string_view end) {
  const std::string_view view = text.view();
  TracedText result;
  std::size_t copied = 0;
  while (true) {
    const std::size_t start = view.find(begin, copied);
    const std::size_t stop = start == view.npos ? start : view.find(end, start);
    if (stop == view.npos) break;
    result.append(text, copied, start - copied);
    copied = stop + end.size();
  }
  result.append(text, copied, view.size() - copied);
  return result;
}

/// The character of "#39", "#x27" or "amp"; empty if it is none.
std::string character_of(std::string_view name) {
  for (const NamedCharacter& each : kNamedCharacters) {
    if (each.name == name) return std::string(each.text);
  }
  if (!name.starts_with('#')) return {};
  name.remove_prefix(1);
  const bool is_hexadecimal = name.starts_with('x') || name.starts_with('X');
  if (is_hexadecimal) name.remove_prefix(1);
  const std::string digits(name);
  std::uint32_t code = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, code, is_hexadecimal ? 16 : 10);
  const bool is_character = error == std::errc() && stop == end && code >= 0x20 &&
                            code < 0x110000 && (code < 0x7F || code > 0x9F) &&
                            (code < 0xD800 || code >= 0xE000);
  std::string text;
  if (is_character) append_utf8(static_cast<char32_t>(code), text);
  return text;
}

/// With the characters that "&...;" stands for.
TracedText unescape_html(const TracedText& text) {
  constexpr std::size_t kLongestName = 10;
  const std::string_view view = text.view();
  TracedText result;
  std::size_t copied = 0;
  for (std::size_t at = view.find('&'); at != view.npos; at = view.find('&', at + 1)) {
    const std::size_t size = view.substr(at + 1, kLongestName).find(';');
    if (size == view.npos) continue;
    const std::string character = character_of(view.substr(at + 1, size));
    if (character.empty()) continue;
    result.append(text, copied, at - copied);
    result.append(character, text.from_template_at(at));
    copied = at + size + 2;
  }
  result.append(text, copied, view.size() - copied);
  return result;
}

/// Without comments and tags, each run of white space a single space.
Result<Value> without_tags(const Inputs& inputs) {
  Budget& budget = inputs.run.budget();
  TracedText text;
  SHUNT_TRY(append_text(text, inputs.self, budget));
  SHUNT_TRY(budget.make(text.size()));
  text = without_parts(without_parts(text, "<!--", "-->"), "<", ">");
  SHUNT_ASSIGN(const auto words, split(text, nullptr, {}, budget));
  TracedText joined;
  for (const TracedText& word : words) {
    if (!joined.empty()) joined.append(" ", word.from_template_at(0));
    joined.append(word);
  }
  return Value::text(unescape_html(joined));
}

/// ' key="value"' for each entry of a mapping that has a value.
Result<Value> as_attributes(const Inputs& inputs) {
  const Mapping* mapping = inputs.self.as_mapping();
  if (mapping == nullptr) {
    SHUNT_TRY(require_defined(inputs.self));
    return invalid("xmlattr needs a mapping, not '{}'", type_name(inputs.self));
  }
  Budget& budget = inputs.run.budget();
  const bool begins_with_space = inputs.flag(0, true);
  TracedText result;
  for (const auto& [key, value] : mapping->entries()) {
    if (value.is_none() || value.is_undefined()) continue;
    const TracedText* name = key.as_text();
    if (name == nullptr) return invalid("names of attributes are texts");
    if (name->view().find_first_of(" \t\n\v\f\r/>=") != std::string_view::npos) {
      return invalid("the name of an attribute has no white space, \"/\", \">\" and \"=\"");
    }
    TracedText shown;
    SHUNT_TRY(append_text(shown, value, budget));
    const bool is_safe = value.as<Text>() != nullptr && value.as<Text>()->safe;
    if (!result.empty() || begins_with_space) result.append(" ", false);
    result.append(escape_html(*name));
    result.append("=\"", false);
    result.append(is_safe ? shown : escape_html(shown));
    result.append("\"", false);
    SHUNT_TRY(budget.make(shown.size() + result.size() / 1024));
  }
  SHUNT_TRY(budget.make(result.size()));
  return Value::text(std::move(result));
}

constexpr std::array kMarkupFilters = {
    Builtin{"striptags", "", without_tags},
    Builtin{"xmlattr", "autospace", as_attributes},
};

}  // namespace

std::span<const Builtin> markup_filters() {
  return kMarkupFilters;
}

}  // namespace shunt::text::jinja
