// Filters whose result is a text.
#include <algorithm>
#include <array>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/builtin.h"
#include "text/jinja/format.h"
#include "text/jinja/json_text.h"
#include "text/jinja/operators.h"
#include "text/jinja/run.h"
#include "text/jinja/text_functions.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

/// The input as str() has it.
Result<TracedText> input_text(const Inputs& inputs) {
  TracedText text;
  SHUNT_TRY(append_text(text, inputs.self, inputs.run.budget()));
  return text;
}

bool input_is_safe(const Inputs& inputs) {
  const Text* text = inputs.self.as<Text>();
  return text != nullptr && text->safe;
}

template <class Function>
Result<Value> changed_input(const Inputs& inputs, Function function) {
  SHUNT_ASSIGN(const TracedText text, input_text(inputs));
  return Value::text(function(text), input_is_safe(inputs));
}

template <CharacterMap map>
Result<Value> input_in_case(const Inputs& inputs) {
  return changed_input(inputs, [](const TracedText& text) { return map_characters(text, map); });
}

Result<Value> capitalized_input(const Inputs& inputs) {
  return changed_input(inputs, capitalize);
}

/// Words begin behind spaces, hyphens and opening brackets.
Result<Value> titled_input(const Inputs& inputs) {
  SHUNT_ASSIGN(const TracedText text, input_text(inputs));
  TracedText result;
  bool at_start = true;
  const std::string_view view = text.view();
  for (std::size_t i = 0; i < view.size(); i += utf8_size(view.substr(i))) {
    const char32_t c = utf8_code_point(view.substr(i));
    const bool divides = is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
    std::string changed;
    at_start ? append_upper(c, changed) : append_lower(c, changed);
    result.append(changed, text.from_template_at(i));
    at_start = divides;
  }
  return Value::text(std::move(result));
}

Result<Value> trimmed_input(const Inputs& inputs) {
  SHUNT_ASSIGN(const TracedText* characters, inputs.text(0));
  return changed_input(inputs, [&](const TracedText& text) { return strip(text, characters); });
}

Result<Value> input_as_string(const Inputs& inputs) {
  if (inputs.self.as_text() != nullptr) return inputs.self;
  SHUNT_ASSIGN(TracedText text, input_text(inputs));
  return Value::text(std::move(text));
}

Result<Value> input_as_safe(const Inputs& inputs) {
  SHUNT_ASSIGN(TracedText text, input_text(inputs));
  return Value::text(std::move(text), true);
}

template <bool forced>
Result<Value> escaped_input(const Inputs& inputs) {
  SHUNT_ASSIGN(const TracedText text, input_text(inputs));
  if (input_is_safe(inputs) && !forced) return inputs.self;
  SHUNT_TRY(inputs.run.budget().make(text.size()));
  return Value::text(escape_html(text), true);
}

Result<Value> replaced_input(const Inputs& inputs) {
  SHUNT_ASSIGN(const TracedText text, input_text(inputs));
  SHUNT_ASSIGN(const std::int64_t most, inputs.integer(2, -1));
  TracedText old;
  TracedText by;
  SHUNT_TRY(append_text(old, *inputs[0], inputs.run.budget()));
  SHUNT_TRY(append_text(by, *inputs[1], inputs.run.budget()));
  SHUNT_ASSIGN(TracedText result, replace(text, old, by, most, inputs.run.budget()));
  return Value::text(std::move(result));
}

Result<Value> centered_input(const Inputs& inputs) {
  SHUNT_ASSIGN(const TracedText text, input_text(inputs));
  SHUNT_ASSIGN(const std::int64_t width, inputs.integer(0, 80));
  SHUNT_ASSIGN(TracedText result, center(text, width, " ", inputs.run.budget()));
  return Value::text(std::move(result));
}

Result<Value> formatted_input(const Inputs& inputs) {
  SHUNT_ASSIGN(TracedText text, input_text(inputs));
  const Text format{std::make_shared<const TracedText>(std::move(text)), input_is_safe(inputs)};
  if (inputs.all.named.empty()) {
    SHUNT_ASSIGN(const Value values, make_sequence(inputs.all.positional, Sequence::Kind::kTuple));
    return format_percent(format, values, inputs.run.budget());
  }
  Mapping mapping;
  for (const auto& [name, value] : inputs.all.named) {
    mapping.set(Value::text(name, true), value, inputs.run.budget());
  }
  SHUNT_ASSIGN(const Value values, make_mapping(std::move(mapping)));
  return format_percent(format, values, inputs.run.budget());
}

/// Lines but the first behind `width` spaces, or behind a text.
Result<Value> indented_input(const Inputs& inputs) {
  const TracedText* text = inputs.self.as_text();
  if (text == nullptr) {
    SHUNT_TRY(require_defined(inputs.self));
    return invalid("indent() needs a str, not '{}'", type_name(inputs.self));
  }
  TracedText indention;
  const TracedText* own = inputs[0] == nullptr ? nullptr : inputs[0]->as_text();
  if (own != nullptr) {
    indention = *own;
  } else {
    SHUNT_ASSIGN(const std::int64_t width, inputs.integer(0, 4));
    SHUNT_ASSIGN(indention, pad({}, width, 0, " ", inputs.run.budget()));
  }
  const bool blank = inputs.flag(2, false);
  TracedText ended = *text;
  ended.append("\n", true);
  SHUNT_ASSIGN(const auto lines, split_lines(ended, false, inputs.run.budget()));
  TracedText result;
  if (inputs.flag(1, false)) result.append(indention);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) result.append("\n", true);
    if (i > 0 && (blank || !lines[i].empty())) result.append(indention);
    result.append(lines[i]);
    SHUNT_TRY(inputs.run.budget().make(indention.size() + result.size() / 1024));
  }
  SHUNT_TRY(inputs.run.budget().make(result.size()));
  return Value::text(std::move(result), input_is_safe(inputs));
}

/// A text is cut; other values with a length stay if they are short.
Result<Value> truncated_input(const Inputs& inputs) {
  const bool is_text = inputs.self.as_text() != nullptr;
  const bool has_length = is_text || inputs.self.is_undefined() ||
                          inputs.self.as_sequence() != nullptr ||
                          inputs.self.as_mapping() != nullptr;
  if (!has_length) return invalid("truncate() needs a str, not '{}'", type_name(inputs.self));
  if (!is_text) return inputs.self;
  SHUNT_ASSIGN(const TracedText text, input_text(inputs));
  SHUNT_ASSIGN(const std::int64_t length, inputs.integer(0, 255));
  SHUNT_ASSIGN(const TracedText* given, inputs.text(2));
  SHUNT_ASSIGN(const std::int64_t leeway, inputs.integer(3, 5));
  const TracedText end = given == nullptr ? TracedText("...", true) : *given;
  const std::int64_t end_length = count_characters(end.view());
  if (length < end_length || leeway < 0) return invalid("truncate() needs a greater length");
  const std::int64_t size = count_characters(text.view());
  if (size <= leeway || size - leeway <= length) return Value::text(text);
  TracedText kept = text.part(0, offset_of_character(text.view(), length - end_length));
  const std::size_t space = kept.view().rfind(' ');
  const bool kills_words = inputs.flag(1, false);
  if (!kills_words && space != std::string_view::npos) kept = kept.part(0, space);
  kept.append(end);
  return Value::text(std::move(kept));
}

Result<Value> words_of_input(const Inputs& inputs) {
  SHUNT_ASSIGN(const TracedText text, input_text(inputs));
  const std::string_view view = text.view();
  std::int64_t words = 0;
  bool inside = false;
  for (std::size_t i = 0; i < view.size(); i += utf8_size(view.substr(i))) {
    const char32_t c = utf8_code_point(view.substr(i));
    const bool is_word = is_alphanumeric(c) || c == '_';
    if (is_word && !inside) ++words;
    inside = is_word;
  }
  return Value(words);
}

/// Appends "%XX" for all bytes but letters, digits and "_.-~". In a query "+" is a space; else "/"
/// stays.
Status append_quoted_bytes(TracedText& out, const Value& value, bool in_query, Budget& budget) {
  TracedText text;
  SHUNT_TRY(append_text(text, value, budget));
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text.view()[i];
    const auto byte = static_cast<unsigned char>(c);
    const bool is_kept = byte < 0x80 && (is_letter(byte) || is_digit(byte) ||
                                         std::string_view("_.-~").find(c) != std::string::npos ||
                                         (c == '/' && !in_query));
    const std::string quoted = c == ' ' && in_query ? "+" : fmt::format("%{:02X}", byte);
    out.append(is_kept ? std::string(1, c) : quoted, text.from_template_at(i));
  }
  return budget.make(out.size());
}

/// A text, or the pairs of a mapping as "key=value&...".
Result<Value> quoted_for_urls(const Inputs& inputs) {
  TracedText result;
  const Mapping* mapping = inputs.self.as_mapping();
  if (mapping == nullptr) {
    SHUNT_TRY(append_quoted_bytes(result, inputs.self, false, inputs.run.budget()));
    return Value::text(std::move(result));
  }
  for (const auto& [key, value] : mapping->entries()) {
    if (!result.empty()) result.append("&", false);
    SHUNT_TRY(append_quoted_bytes(result, key, true, inputs.run.budget()));
    result.append("=", false);
    SHUNT_TRY(append_quoted_bytes(result, value, true, inputs.run.budget()));
  }
  return Value::text(std::move(result));
}

Result<Value> input_as_json(const Inputs& inputs) {
  JsonFormat format;
  format.ascii = inputs.flag(0, false);
  format.sorts_keys = inputs.flag(3, false);
  if (inputs[1] != nullptr && !inputs[1]->is_none()) {
    if (const TracedText* indention = inputs[1]->as_text()) {
      format.indention = *indention;
    } else {
      SHUNT_ASSIGN(const std::int64_t width, inputs.integer(1, 0));
      SHUNT_ASSIGN(format.indention, pad({}, width, 0, " ", inputs.run.budget()));
    }
    format.item_separator = TracedText(",", false);
  }
  if (inputs[2] != nullptr && !inputs[2]->is_none()) {
    const Sequence* separators = inputs[2]->as_sequence();
    const bool valid = separators != nullptr && separators->items.size() == 2 &&
                       separators->items[0].as_text() != nullptr &&
                       separators->items[1].as_text() != nullptr;
    if (!valid) return invalid("separators are two texts");
    format.item_separator = *separators->items[0].as_text();
    format.key_separator = *separators->items[1].as_text();
  }
  SHUNT_ASSIGN(TracedText text, to_json(inputs.self, format, inputs.run.budget()));
  return Value::text(std::move(text));
}

constexpr std::array kTextFilters = {
    Builtin{"trim", "chars", trimmed_input},
    Builtin{"tojson", "ensure_ascii indent separators sort_keys", input_as_json},
    Builtin{"upper", "", input_in_case<map_upper>},
    Builtin{"lower", "", input_in_case<map_lower>},
    Builtin{"capitalize", "", capitalized_input},
    Builtin{"title", "", titled_input},
    Builtin{"string", "", input_as_string},
    Builtin{"safe", "", input_as_safe},
    Builtin{"escape", "", escaped_input<false>},
    Builtin{"e", "", escaped_input<false>},
    Builtin{"forceescape", "", escaped_input<true>},
    Builtin{"replace", "old! new! count", replaced_input},
    Builtin{"center", "width", centered_input},
    Builtin{"format", "*", formatted_input},
    Builtin{"indent", "width first blank", indented_input},
    Builtin{"truncate", "length killwords end leeway", truncated_input},
    Builtin{"wordcount", "", words_of_input},
    Builtin{"urlencode", "", quoted_for_urls},
};

}  // namespace

std::span<const Builtin> text_filters() {
  return kTextFilters;
}

}  // namespace shunt::text::jinja
