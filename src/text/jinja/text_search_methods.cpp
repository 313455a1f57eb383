// Methods of texts that ask something about them.
#include <algorithm>
#include <array>

#include "shunt/message.h"
#include "text/jinja/builtin.h"
#include "text/jinja/operators.h"
#include "text/jinja/run.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

std::string_view self_view(const Inputs& inputs) {
  return inputs.self.as_text()->view();
}

/// The part of the text that the parameters 1 and 2, start and end, select.
struct Window {
  std::string_view text;
  std::size_t begin = 0;  ///< in bytes
  bool valid = true;      ///< whether start is in the text and not behind end
};
Result<Window> window_of(const Inputs& inputs) {
  const std::string_view view = self_view(inputs);
  SHUNT_TRY(inputs.run.budget().make(view.size()));
  if (inputs[1] == nullptr && inputs[2] == nullptr) return Window{view};
  const std::int64_t size = count_characters(view);
  SHUNT_ASSIGN(std::int64_t start, inputs.integer(1, 0));
  SHUNT_ASSIGN(std::int64_t end, inputs.integer(2, size));
  if (start < 0) start = std::max<std::int64_t>(start + size, 0);
  if (end < 0) end = std::max<std::int64_t>(end + size, 0);
  end = std::min(end, size);
  Window window;
  window.valid = start <= end;
  window.begin = offset_of_character(view, start);
  const std::size_t stop = std::max(offset_of_character(view, end), window.begin);
  window.text = view.substr(window.begin, stop - window.begin);
  return window;
}

template <bool suffix>
Result<Value> has_affix(const Inputs& inputs) {
  SHUNT_ASSIGN(const Window window, window_of(inputs));
  const auto matches = [&](const Value& affix) -> Result<bool> {
    const TracedText* text = affix.as_text();
    if (text == nullptr) {
      SHUNT_TRY(require_defined(affix));
      return invalid("expected a str or a tuple of them, not '{}'", type_name(affix));
    }
    return window.valid &&
           (suffix ? window.text.ends_with(text->view()) : window.text.starts_with(text->view()));
  };
  const Sequence* several = inputs[0]->as_sequence();
  if (several == nullptr || several->kind != Sequence::Kind::kTuple) {
    SHUNT_ASSIGN(const bool result, matches(*inputs[0]));
    return Value(result);
  }
  for (const Value& each : several->items) {
    SHUNT_ASSIGN(const bool result, matches(each));
    if (result) return Value(true);
  }
  return Value(false);
}

/// Index of the text in characters; -1 if it is not there.
template <bool from_back>
Result<std::int64_t> place_of(const Inputs& inputs) {
  SHUNT_ASSIGN(const TracedText* part, inputs.text(0));
  if (part == nullptr) return invalid("expected a str");
  SHUNT_ASSIGN(const Window window, window_of(inputs));
  const std::size_t found =
      from_back ? window.text.rfind(part->view()) : window.text.find(part->view());
  if (!window.valid || found == std::string_view::npos) return -1;
  return count_characters(self_view(inputs).substr(0, window.begin + found));
}

template <bool from_back>
Result<Value> found_at(const Inputs& inputs) {
  SHUNT_ASSIGN(const std::int64_t place, place_of<from_back>(inputs));
  return Value(place);
}

template <bool from_back>
Result<Value> index_in_text(const Inputs& inputs) {
  SHUNT_ASSIGN(const std::int64_t place, place_of<from_back>(inputs));
  if (place < 0) return invalid("the text to look for is not there");
  return Value(place);
}

Result<Value> count_in_text(const Inputs& inputs) {
  SHUNT_ASSIGN(const TracedText* part, inputs.text(0));
  if (part == nullptr) return invalid("expected a str");
  SHUNT_ASSIGN(const Window window, window_of(inputs));
  if (!window.valid) return Value(std::int64_t{0});
  if (part->empty()) return Value(count_characters(window.text) + 1);
  std::int64_t count = 0;
  for (std::size_t at = window.text.find(part->view()); at != std::string_view::npos;
       at = window.text.find(part->view(), at + part->size())) {
    ++count;
  }
  return Value(count);
}

/// Whether it is not empty and all characters are such.
template <class Predicate>
Result<Value> all_characters(const Inputs& inputs, Predicate is_one, bool of_empty = false) {
  const std::string_view view = self_view(inputs);
  SHUNT_TRY(inputs.run.budget().make(view.size()));
  for (std::size_t i = 0; i < view.size(); i += utf8_size(view.substr(i))) {
    if (!is_one(utf8_code_point(view.substr(i)))) return Value(false);
  }
  return Value(of_empty || !view.empty());
}

template <bool (*is_one)(char32_t)>
Result<Value> consists_of(const Inputs& inputs) {
  return all_characters(inputs, is_one);
}

Result<Value> is_ascii(const Inputs& inputs) {
  return all_characters(
      inputs, [](char32_t c) { return c < 0x80; }, true);
}

Result<Value> is_all_printable(const Inputs& inputs) {
  return all_characters(inputs, is_printable, true);
}

Result<Value> is_identifier(const Inputs& inputs) {
  const std::string_view view = self_view(inputs);
  if (!view.empty() && is_digit(static_cast<unsigned char>(view.front()))) return Value(false);
  return all_characters(inputs, [](char32_t c) { return is_alphanumeric(c) || c == '_'; });
}

/// Whether there is a letter of one case and none of the other.
template <bool (*is_wanted)(char32_t), bool (*is_other)(char32_t)>
Result<Value> is_in_case(const Inputs& inputs) {
  const std::string_view view = self_view(inputs);
  SHUNT_TRY(inputs.run.budget().make(view.size()));
  bool found = false;
  for (std::size_t i = 0; i < view.size(); i += utf8_size(view.substr(i))) {
    const char32_t c = utf8_code_point(view.substr(i));
    if (is_other(c)) return Value(false);
    found |= is_wanted(c);
  }
  return Value(found);
}

Result<Value> is_title(const Inputs& inputs) {
  const std::string_view view = self_view(inputs);
  SHUNT_TRY(inputs.run.budget().make(view.size()));
  bool found = false;
  bool after_cased = false;
  for (std::size_t i = 0; i < view.size(); i += utf8_size(view.substr(i))) {
    const char32_t c = utf8_code_point(view.substr(i));
    const bool upper = is_upper(c);
    const bool lower = !upper && is_lower(c);
    if ((upper && after_cased) || (lower && !after_cased)) return Value(false);
    after_cased = upper || lower;
    found |= after_cased;
  }
  return Value(found);
}

constexpr std::array kTextSearchMethods = {
    Builtin{"startswith", "prefix! start end", has_affix<false>},
    Builtin{"endswith", "suffix! start end", has_affix<true>},
    Builtin{"find", "sub! start end", found_at<false>},
    Builtin{"rfind", "sub! start end", found_at<true>},
    Builtin{"index", "sub! start end", index_in_text<false>},
    Builtin{"rindex", "sub! start end", index_in_text<true>},
    Builtin{"count", "sub! start end", count_in_text},
    Builtin{"isdigit", "", consists_of<is_any_digit>},
    Builtin{"isdecimal", "", consists_of<is_decimal_digit>},
    Builtin{"isnumeric", "", consists_of<is_numeric>},
    Builtin{"isalpha", "", consists_of<is_letter>},
    Builtin{"isspace", "", consists_of<is_space>},
    Builtin{"isalnum", "", consists_of<is_alphanumeric>},
    Builtin{"isascii", "", is_ascii},
    Builtin{"isprintable", "", is_all_printable},
    Builtin{"isidentifier", "", is_identifier},
    Builtin{"islower", "", is_in_case<is_lower, is_upper>},
    Builtin{"isupper", "", is_in_case<is_upper, is_lower>},
    Builtin{"istitle", "", is_title},
};

}  // namespace

std::span<const Builtin> text_search_methods() {
  return kTextSearchMethods;
}

}  // namespace shunt::text::jinja
